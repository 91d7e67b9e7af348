from jsonschema import Draft202012Validator

INSTANCE = [{"id": i, "tags": [i % 7, "x"]} for i in range(350)]

validator = Draft202012Validator({"type": "array", "uniqueItems": True, "items": {"type": "object"}})
for _ in range(4):
    validator.validate(INSTANCE)
