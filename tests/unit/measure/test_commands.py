from bot.measure.commands import child_environment


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
