"""debug.breakpoint by scripts: it opens at the user's line, with values, inside every transform."""

import io
import re

import jax
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.debug import DebugEffect, OrderedDebugEffect

X = np.array([1.0, 2.0], np.float32)


class Session:
    """A terminal in which commands have been typed in advance, for each time that it is opened."""

    def __init__(self, *commands):
        self.stdin = io.StringIO("\n".join((*commands, "c\n")) * 9)
        self.stdout = io.StringIO()
        self.files = {"stdin": self.stdin, "stdout": self.stdout}

    @property
    def answers(self):
        """What was said to each command, for each opening."""
        openings = self.stdout.getvalue().split("Breakpoint at ")[1:]
        return [[a.strip() for a in o.split("(fgdb) ")[1:-1]] for o in openings]


def double(session, **kwargs):
    def double(x):
        y = x * 2
        fg.debug.breakpoint(**session.files, **kwargs)
        return y

    return double


USES = {
    "eager": (lambda f: f(3.0), ["6.0"]),
    "jit": (lambda f: fg.jit(f)(3.0), ["Array(6., dtype=float32)"]),
    "jit twice": (
        lambda f: [fg.jit(f)(3.0), fg.jit(f)(4.0)],
        ["Array(6., dtype=float32)", "Array(8., dtype=float32)"],
    ),
    "vmap": (lambda f: fg.vmap(f)(X), ["Array(2., dtype=float32)", "Array(4., dtype=float32)"]),
    "jit of vmap": (
        lambda f: fg.jit(fg.vmap(f))(X),
        ["Array(2., dtype=float32)", "Array(4., dtype=float32)"],
    ),
    "grad": (lambda f: fg.grad(f)(fnp.float32(3)), ["Array(6., dtype=float32)"]),
    "jit of grad": (lambda f: fg.jit(fg.grad(f))(fnp.float32(3)), ["Array(6., dtype=float32)"]),
    "scan": (
        lambda f: fg.lax.scan(lambda c, x: (c, f(x)), 0.0, X),
        ["Array(2., dtype=float32)", "Array(4., dtype=float32)"],
    ),
    "cond": (
        lambda f: fg.jit(lambda p, x: fg.lax.cond(p, f, lambda x: x, x))(True, 3.0),
        ["Array(6., dtype=float32)"],
    ),
    "checkpoint": (
        lambda f: fg.checkpoint(f)(fnp.float32(3)),
        ["Array(6., dtype=float32)"],
    ),
}


@pytest.mark.parametrize("use", USES)
def test_opens_with_values(use):
    session = Session("p y")
    run, values = USES[use]
    run(double(session))
    assert [opening[0] for opening in session.answers] == values


def test_a_branch_not_taken_does_not_open():
    session = Session("p y")
    f = double(session)
    fg.jit(lambda p, x: fg.lax.cond(p, f, lambda x: x, x))(False, 3.0)
    assert session.stdout.getvalue() == ""


def nested(session, **kwargs):
    """Two traced functions, the inner one with a breakpoint."""

    def callee(x):
        secret = {"w": [x + 1], "setting": "s"}
        fg.debug.breakpoint(**session.files, **kwargs)
        return secret["w"][0]

    def caller(x):
        inner = x * 10
        return callee(inner)

    fg.jit(caller)(2.0)


def test_variables_of_frames():
    session = Session("secret", "up", "inner", "p secret", "down", "p secret['setting']", "down")
    nested(session)
    (answers,) = session.answers
    assert answers[0] == "{'setting': 's', 'w': [Array(21., dtype=float32)]}"
    assert re.fullmatch(r"> .*test_breakpoint.py:\d+ \(caller\)", answers[1])
    assert answers[2:4] == [
        "Array(20., dtype=float32)",
        "*** NameError: name 'secret' is not defined",
    ]
    assert answers[4].endswith("(callee)") and answers[5] == "'s'"
    assert answers[6] == "*** this is the innermost frame"


def test_where_and_list():
    session = Session("bt", "list", "vars")
    nested(session)
    ((where, listing, variables),) = session.answers
    functions = re.findall(r":\d+ \((\w+)\)$", where, re.MULTILINE)
    assert functions[-3:] == ["nested", "caller", "callee"]
    assert "jit" not in where.replace("fg.jit(caller)", "")
    (arrow,) = [line for line in listing.splitlines() if line.startswith("->")]
    assert arrow.endswith("fg.debug.breakpoint(**session.files, **kwargs)")
    assert "x = Array(20., dtype=float32)" in variables.splitlines()


@pytest.mark.parametrize("count", [1, 2])
def test_number_of_frames(count):
    session = Session("w", *["u"] * count)
    nested(session, num_frames=count)
    ((where, *ups),) = session.answers
    assert len(re.findall(r":\d+ \(\w+\)$", where, re.MULTILINE)) == count
    assert ups[-1] == "*** this is the outermost frame"


def test_own_frames_are_shown_when_asked_for():
    session = Session("w")
    nested(session, filter_frames=False)
    assert "funcgrad/api/jit.py" in session.stdout.getvalue()


def test_statements_and_errors_of_what_is_typed():
    typed = ["z = y + 1", "z", "pp [z, 1]", "p 1/0", "no_such", "for", "", "0", "p None"]
    session = Session(*typed)
    fg.jit(double(session))(3.0)
    ((bound, z, pretty, *rest),) = session.answers
    assert (bound, z, pretty) == ("", "Array(7., dtype=float32)", "[Array(7., dtype=float32), 1]")
    assert rest[:2] == [
        "*** ZeroDivisionError: division by zero",
        "*** NameError: name 'no_such' is not defined",
    ]
    assert "SyntaxError" in rest[2]
    assert rest[3:] == ["", "0", "None"]


@pytest.mark.parametrize("command", ["q", "quit", "exit", "EOF"])
@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit], ids=["eager", "jit"])
def test_quitting_ends_the_program(command, wrap):
    with pytest.raises(SystemExit):
        wrap(double(Session(command)))(3.0)


def test_end_of_input_quits():
    files = {"stdin": io.StringIO(""), "stdout": io.StringIO()}
    with pytest.raises(SystemExit):
        fg.debug.breakpoint(**files)


def test_variables_that_no_callback_can_take():
    session = Session("p mixed", "p done", "p x")

    def f(x):
        mixed, done = {1: x, "a": 2}, object  # keys without an order; no array
        fg.debug.breakpoint(**session.files)
        return mixed[1] if done else x

    leaked = []
    fg.jit(lambda x: leaked.append(x))(1.0)

    def g(x):
        old = leaked[0]
        fg.debug.breakpoint(**session.files)
        return x if old is not None else 0

    fg.jit(f)(1.0)
    fg.jit(g)(1.0)
    first, second = session.answers
    assert "RecordedTracer" in first[0]
    assert first[1:] == ["<class 'object'>", "Array(1., dtype=float32)"]
    assert second[2] == "Array(1., dtype=float32)"


def test_token_is_returned_and_comes_first():
    order = []

    class Output(io.StringIO):
        def write(self, text):
            order.append("opened")
            return super().write(text)

    def f(x):
        x = fg.pure_callback(lambda x: order.append("computed") or np.asarray(x), x, x)
        files = {"stdin": io.StringIO("c\n"), "stdout": Output()}
        return fg.debug.breakpoint(**files, token={"x": x})

    out = fg.jit(f)(fnp.float32(2))
    assert float(out["x"]) == 2.0
    assert order[0] == "computed" and "opened" in order


def test_effects():
    unordered = fg.make_jaxpr(double(Session()))(1.0)
    ordered = fg.make_jaxpr(double(Session(), ordered=True))(1.0)
    assert unordered.effects == {DebugEffect()} and ordered.effects == {OrderedDebugEffect()}
    theirs = jax.make_jaxpr(lambda x: jax.debug.print("{}", x))(1.0).effects
    assert [str(e) for e in theirs] == [str(e) for e in unordered.effects]


def test_errors():
    with pytest.raises(ValueError, match="the backend is 'cli' or None, got 'web'"):
        fg.debug.breakpoint(backend="web")
    with pytest.raises(TypeError, match="unexpected arguments: color, foo"):
        fg.debug.breakpoint(foo=1, color=2)
    with pytest.raises(ValueError, match="has no frame to show; num_frames must be at least 1"):
        fg.debug.breakpoint(num_frames=0)
