from perf_culprit.measure.runner import child_environment, withheld


def test_no_credentials_and_no_way_to_change_the_next_step() -> None:
    runner = {
        "PATH": "/bin",
        "HOME": "/home/user",
        "GITHUB_SHA": "abc",
        "ACTIONS_RUNTIME_TOKEN": "secret",
        "ACTIONS_ID_TOKEN_REQUEST_URL": "secret",
        "GITHUB_TOKEN": "secret",
        "GH_TOKEN": "secret",
        "INPUT_GITHUB-TOKEN": "secret",
        "GITHUB_ENV": "/file",
        "GITHUB_PATH": "/file",
        "GITHUB_OUTPUT": "/file",
        "GITHUB_STATE": "/file",
        "GITHUB_STEP_SUMMARY": "/file",
        "GIT_DIR": "/elsewhere",
        "GIT_CONFIG_VALUE_0": "Authorization: Basic secret",
        "PERF_CULPRIT_DEBUG": "1",
    }
    kept = child_environment(runner, PERF_CULPRIT_COMMIT="abc")
    assert kept == {"PATH": "/bin", "HOME": "/home/user", "GITHUB_SHA": "abc", "PERF_CULPRIT_COMMIT": "abc"}


def test_a_runner_passes_on_what_building_needs_and_what_the_workflow_names() -> None:
    runner = {
        "GITHUB_ACTIONS": "true",
        "PATH": "/bin",
        "JAVA_HOME_21_X64": "/java",
        "DATABASE_URL": "postgres://user:secret@host",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "GOOGLE_APPLICATION_CREDENTIALS": "/key.json",
        "CARGO_REGISTRY_TOKEN": "secret",
        "GRADLE_ENTERPRISE_ACCESS_KEY": "secret",
        "GITHUB_TOKEN": "secret",
        "ACTIONS_RUNTIME_TOKEN": "secret",
    }
    needed = {"GITHUB_ACTIONS": "true", "PATH": "/bin", "JAVA_HOME_21_X64": "/java"}
    assert child_environment(runner) == needed
    assert child_environment(runner, named=["DATABASE_URL"]) == needed | {"DATABASE_URL": runner["DATABASE_URL"]}
    assert "AWS_SECRET_ACCESS_KEY" in withheld(runner)
    # A person's own machine: known credentials are withheld, the other variables are passed on.
    assert "DATABASE_URL" in child_environment({**runner, "GITHUB_ACTIONS": ""})


def test_bytecode_is_written_so_that_no_execution_compiles_what_its_commit_changed() -> None:
    for here in ({}, {"GITHUB_ACTIONS": "true"}):
        environ = {"PATH": "/bin", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": "src"} | here
        assert set(child_environment(environ)) == {"PATH", "PYTHONPATH"} | set(here)
        assert withheld(environ) == ("PYTHONDONTWRITEBYTECODE",)
        assert withheld(environ, named=["PYTHONDONTWRITEBYTECODE"]) == ()
