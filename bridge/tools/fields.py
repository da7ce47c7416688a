from bridge.fields import *  # noqa
