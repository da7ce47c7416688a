from bridge.usage import *  # noqa
