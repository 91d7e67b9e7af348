"""Issues, comments (also those of pull requests) and reactions."""

from tests.support.fake_github.call import Answer, ApiError, Call, item_of
from tests.support.fake_github.pages import Listing
from tests.support.fake_github.state import Comment, Issue

MAXIMUM_BODY_CHARACTERS = 65_536


def refuse_body(body: str) -> None:
    if not body.strip():
        error = {"resource": "IssueComment", "code": "unprocessable", "field": "data", "message": "Body can't be blank"}
        raise ApiError(422, "Validation Failed", errors=[error])
    if len(body) > MAXIMUM_BODY_CHARACTERS:
        message = f"Body is too long (maximum is {MAXIMUM_BODY_CHARACTERS} characters)"
        error = {"resource": "IssueComment", "code": "unprocessable", "field": "data", "message": message}
        raise ApiError(422, "Validation Failed", errors=[error])


def list_comments(call: Call) -> Answer:
    shown = []
    for comment in call.state.comments.values():
        if comment.issue == call.number("issue_number"):
            if comment.hidden_listings > 0:
                comment.hidden_listings -= 1
            else:
                shown.append(call.shapes.comment(comment))
    return Answer(200, Listing(shown))


def list_events(call: Call) -> Answer:
    pull = item_of(call.state.pulls, call.number("issue_number"))
    return Answer(200, Listing([call.shapes.issue_event(event) for event in pull.events]))


def create_comment(call: Call) -> Answer:
    issue = call.number("issue_number")
    if issue in call.state.locked_issues:
        raise ApiError(403, "Unable to create comment because issue is locked.")
    refuse_body(call.body["body"])
    comment = call.state.add_comment(issue=issue, author=call.login, body=call.body["body"])
    return Answer(201, call.shapes.comment(comment))


def get_comment(call: Call) -> Answer:
    return Answer(200, call.shapes.comment(item_of(call.state.comments, call.number("comment_id"))))


def update_comment(call: Call) -> Answer:
    comment = own_comment(call)
    refuse_body(call.body["body"])
    comment.body = call.body["body"]
    comment.writes += 1
    return Answer(200, call.shapes.comment(comment))


def delete_comment(call: Call) -> Answer:
    del call.state.comments[own_comment(call).id]
    return Answer(204)


def own_comment(call: Call) -> Comment:
    # Real GitHub lets a token with write permission change others' comments; nothing here ever should.
    comment = item_of(call.state.comments, call.number("comment_id"))
    if comment.author != call.login:
        raise ApiError(403, "Resource not accessible by integration")
    return comment


def create_reaction(call: Call) -> Answer:
    comment = item_of(call.state.comments, call.number("comment_id"))
    for reaction in comment.reactions:
        if reaction[1:] == (call.login, call.body["content"]):
            return Answer(200, call.shapes.reaction(reaction))
    comment.reactions.append((next(call.state.ids), call.login, call.body["content"]))
    return Answer(201, call.shapes.reaction(comment.reactions[-1]))


def list_reactions(call: Call) -> Answer:
    comment = item_of(call.state.comments, call.number("comment_id"))
    return Answer(200, Listing([call.shapes.reaction(reaction) for reaction in comment.reactions]))


def delete_reaction(call: Call) -> Answer:
    comment = item_of(call.state.comments, call.number("comment_id"))
    comment.reactions[:] = [reaction for reaction in comment.reactions if reaction[0] != call.number("reaction_id")]
    return Answer(204)


def list_issues(call: Call) -> Answer:
    state = call.query.get("state", "open")
    labels = set(filter(None, call.query.get("labels", "").split(",")))
    creator = call.query.get("creator")
    issues = []
    for issue in sorted(call.state.issues.values(), key=lambda issue: issue.number, reverse=True):
        if creator in (None, issue.author) and state in ("all", issue.state) and labels <= set(issue.labels):
            if issue.hidden_listings > 0:
                issue.hidden_listings -= 1
            else:
                issues.append(issue)
    return Answer(200, Listing([call.shapes.issue(issue) for issue in issues]))


def create_issue(call: Call) -> Answer:
    if not call.body["title"]:
        error = {"resource": "Issue", "code": "missing_field", "field": "title"}
        raise ApiError(422, "Validation Failed", errors=[error])
    refuse_body(call.body.get("body") or "none")
    number = next(call.state.ids)
    issue = Issue(number=number, title=call.body["title"], body=call.body.get("body"), author=call.login)
    issue.hidden_listings = call.state.listing_lag
    issue.labels += call.body.get("labels", [])
    call.state.issues[number] = issue
    return Answer(201, call.shapes.issue(issue))


def get_issue(call: Call) -> Answer:
    return Answer(200, call.shapes.issue(item_of(call.state.issues, call.number("issue_number"))))


def update_issue(call: Call) -> Answer:
    issue = item_of(call.state.issues, call.number("issue_number"))
    for name in ("title", "body", "state", "labels"):
        if name in call.body:
            setattr(issue, name, call.body[name])
    return Answer(200, call.shapes.issue(issue))
