import black

CASES = "".join(f"    case {i}:\n        match = case + {i}\n" for i in range(700))
SOURCE = f"match value:\n{CASES}"

black.format_str(SOURCE, mode=black.Mode(target_versions={black.TargetVersion.PY311}))
