"""The command line's commands. One class declares a command's options, its help and the request that its flow gets."""
