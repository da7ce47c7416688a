"""What people see of a flow: text, made of its four bodies and its ledger."""
