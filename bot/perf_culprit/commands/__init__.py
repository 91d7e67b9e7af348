"""What each command is asked: one class is its options, its help and the request that its flow gets."""
