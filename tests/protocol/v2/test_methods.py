from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest

from acpwire.protocol.v2 import initialize, methods
from acpwire.protocol.v2.methods import BY_NAME, METHODS

# Name, receiver, params, result, what the receiver must have advertised.
TABLE = """
initialize                 agent  InitializeRequest              InitializeResponse              -
auth/login                 agent  LoginAuthRequest               LoginAuthResponse               -
auth/logout                agent  LogoutAuthRequest              LogoutAuthResponse              -
session/new                agent  NewSessionRequest              NewSessionResponse              session
session/list               agent  ListSessionsRequest            ListSessionsResponse            session
session/resume             agent  ResumeSessionRequest           ResumeSessionResponse           session
session/close              agent  CloseSessionRequest            CloseSessionResponse            session
session/delete             agent  DeleteSessionRequest           DeleteSessionResponse           session.delete
session/prompt             agent  PromptRequest                  PromptResponse                  session
session/cancel             agent  CancelSessionNotification      -                               session
session/set_config_option  agent  SetSessionConfigOptionRequest  SetSessionConfigOptionResponse  session
tool_call/cancel           agent  CancelToolCallRequest          CancelToolCallResponse          session
terminal/cancel            agent  CancelTerminalRequest          CancelTerminalResponse          session
session/update             client UpdateSessionNotification      -                               -
session/request_permission client RequestPermissionRequest       RequestPermissionResponse       -
$/cancel_request           both   CancelRequestNotification      -                               -
"""
ROWS = [[None if cell == "-" else cell for cell in line.split()] for line in TABLE.strip().splitlines()]


@pytest.mark.parametrize(("name", "side", "params", "result", "gate"), ROWS, ids=[row[0] for row in ROWS])
def test_a_row_of_the_table(name, side, params, result, gate):
    method = BY_NAME[side, name]
    assert (method.name, method.side, method.gate) == (name, side, gate)
    assert method.params.__name__ == params
    assert (method.result and method.result.__name__) == result
    assert method.kind == ("request" if result else "notification")


def test_there_are_no_other_rows():
    assert sorted(method.name for method in METHODS) == sorted(row[0] for row in ROWS)
    assert len(BY_NAME) == len(METHODS)


@pytest.mark.req("RPC-34")
def test_a_method_has_one_direction():
    assert ("client", "session/prompt") not in BY_NAME
    assert ("agent", "session/update") not in BY_NAME
    assert set(Counter(method.name for method in METHODS).values()) == {1}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_method_has_a_constant_named_after_it(method):
    name = method.name.removeprefix("$/").replace("/", "_").upper()
    assert getattr(methods, name) == method.name
    assert name in methods.__all__


@pytest.mark.parametrize("gate", sorted({method.gate for method in METHODS if method.gate}))
def test_a_gate_is_a_path_of_capabilities(gate):
    wire: Any = True
    for name in reversed(gate.split(".")):
        wire = {name: {} if wire is True else wire}
    here: Any = msgspec.convert(wire, initialize.AgentCapabilities)
    for name in gate.split("."):
        here = getattr(here, name)
    assert here is not None


def test_what_is_part_of_a_session_names_it():
    outside = {method.name for method in METHODS if "session_id" not in method.params.__struct_fields__}
    assert outside == {"initialize", "auth/login", "auth/logout", "session/new", "session/list", "$/cancel_request"}
