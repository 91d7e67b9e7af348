import black

SOURCE = "def function():\n" + "".join(f"    name{i}   =   {i}  # fmt: skip\n" for i in range(300))

black.format_str(SOURCE, mode=black.Mode(target_versions={black.TargetVersion.PY311}))
