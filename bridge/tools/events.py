from bridge.events import *  # noqa
