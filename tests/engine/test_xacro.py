"""xacro files: permitted and forbidden operations, and agreement with xacrodoc."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import engine
from engine.urdf.xacro import sandbox
from engine.urdf.xacro.expressions import Evaluator
from engine.urdf.xacro.sandbox import XacroError, expand
from engine.urdf.xacro.size_limits import SIZE, Refused

pytest.importorskip("xacrodoc")

HEAD = '<?xml version="1.0"?>\n<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD + "\n".join(lines) + "\n</robot>\n", "utf-8")
    return path


def quoted(expression: str) -> str:
    return expression.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


ESCAPES = {
    "class": "().__class__.__base__.__subclasses__()",
    "class, by a comprehension": "[c for c in [().__class__]]",
    "generator's frame": "(x for x in [1]).gi_frame.f_back",
    "generator's frame, by a loop": "[g.gi_frame.f_back.f_back.f_globals for g in [(g for g in [1])]]",
    "function's globals": "sin.__globals__",
    "xacro's own globals": "xacro.load_yaml.__globals__",
    "lambda": "(lambda: 1)()",
    "lambda's code": "(lambda: 1).__code__",
    "namespace's class": "math.__class__",
    "namespace's methods": "python.__getattr__('vars')",
    "vars": "python.vars(math)",
    "type": "python.type(1)",
    "vars, by map": "list(map(python.vars, [math]))",
    "vars, by map of map": "list(map(map, [python.vars], [[math]]))",
    "vars, as a key": "max([1, 2], key=python.vars)",
    "vars, by a list": "[python.vars][0](math)",
    "import": "__import__('os')",
    "builtins": "__builtins__",
    "named assignment": "(x := 1)",
    "yaml outside": "xacro.load_yaml('/etc/passwd')",
    "yaml outside, by the old name": "load_yaml('/etc/passwd')",
    "yaml outside, upwards": "xacro.load_yaml('../../../../../../etc/passwd')",
    "power": "9**9**9",
    "repetition": "'a'*10**9",
    "repetition of a list": "[0]*10**9",
    "doubling": "[[1 for a in range(10**5)] for b in range(10**5)]",
    "range": "list(range(10**12))",
    "width": "'%1000000000d' % 1",
    "computed width": "'%*d' % (1000000000, 1)",
    "padding": "'a'.zfill(10**9)",
    "replacing": "('a'*10**5).replace('a', 'b'*10**5)",
    "factorial": "math.factorial(10**7)",
    "rounding": "round(5, -10**9)",
    "shift": "1 << 10**10",
    "object's bytes": "b'a'",
}


@pytest.mark.parametrize("expression", ESCAPES.values(), ids=ESCAPES.keys())
def test_escapes_are_refused_with_their_line(tmp_path: Path, expression: str) -> None:
    path = write(tmp_path / "r.xacro", '<link name="a"/>', "", f'<link name="${{{quoted(expression)}}}"/>')
    with pytest.raises(XacroError, match=r"r\.xacro uses something forbidden in untrusted xacro files: ") as refused:
        expand(path)
    assert refused.value.line == 5
    assert "--trust-xacro" in refused.value.fix


@pytest.mark.parametrize("words", ["'{0.__class__}'.format(1)", "'{:{}}'.format(1, 10**9)", "'{:>99999}'.format(1)",
                                   "f'{1:>99999}'", "f'{().__class__}'"])  # fmt: skip
def test_formats_reach_no_attributes_and_no_great_widths(words: str) -> None:
    with pytest.raises(Refused):
        Evaluator({})(words, {})


BEYOND = {
    "include": ('<xacro:include filename="/etc/passwd"/>', "the file /etc/passwd, which lies outside"),
    "include by a pattern": ('<xacro:include filename="/etc/pass*"/>', "which lies outside"),
    "include through a link": ('<xacro:include filename="link"/>', "link, which lies outside"),
    "find": ('<xacro:include filename="$(find etc)/passwd"/>', "etc"),
    "find upwards": ('<xacro:include filename="$(find ../../../../../etc)/passwd"/>', "etc"),
    "eval of launch files": ('<link name="$(eval [].__class__)"/>', "__class__"),
    "eval of launch files, a frame": ('<link name="$(eval [x.gi_frame for x in []] + [list.mro])"/>', "mro"),
    "macros without end": ('<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>', "nest without end"),
}


@pytest.mark.parametrize(("text", "words"), BEYOND.values(), ids=BEYOND.keys())
def test_what_lies_beyond_the_folders_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    path = write(tmp_path / "r.xacro", "", text)
    with pytest.raises(XacroError) as refused:
        expand(path)
    assert words in str(refused.value)
    assert refused.value.line == 4


def test_yaml_with_python_in_it_makes_no_objects(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text("a: !!python/object/apply:os.system ['touch touched']\n")
    path = write(tmp_path / "r.xacro", "<link name=\"${xacro.load_yaml('r.yaml')['a']}\"/>")
    for trust in (False, True):
        with pytest.raises(XacroError, match="could not determine a constructor"):
            expand(path, trust=trust)


def test_a_file_that_reaches_the_system_is_stopped_unless_it_is_trusted(tmp_path: Path) -> None:
    """The walk through the interpreter's frames that reached `os.system` from a file that was only checked."""
    touched = tmp_path / "touched"
    walk = (
        "[(k.append((g.gi_frame.f_back.f_back for g in k)), [f for f in k[0]][0].f_back.f_back.f_back"
        f".f_globals['os'].system('echo > {touched}')) for k in [[]]]"
    )
    path = write(tmp_path / "r.xacro", f'<link name="${{{quoted(walk)}}}"/>')
    (found,) = engine.check(path)
    assert (found.severity, found.line) == ("error", 3)
    assert "uses something forbidden in untrusted xacro files" in found.problem
    assert "--trust-xacro" in found.fix
    assert not touched.exists()
    engine.check(path, trust_xacro=True)
    assert touched.exists()


INERTIAL = '<inertial><mass value="${m}"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'

PLAIN = {
    "properties and mathematics": """
<xacro:property name="r" value="0.5"/><xacro:property name="area" value="${pi * r**2}"/>
<xacro:property name="text" value="it's ${r} m"/>
<link name="a"><visual><origin xyz="${cos(radians(30))} ${-sqrt(2)/2 + 1e-3} ${max(1, 2, r) % 3 // 1}"/>
<geometry><sphere radius="${round(area, 3)}"/></geometry></visual></link><link name="${text} $(cwd)"/>""",
    "macros, blocks and defaults": """
<xacro:macro name="part" params="name m:=1 parent:=^|base *origin **more">
<link name="${name}">INERTIAL<xacro:insert_block name="more"/></link>
<joint name="${parent}_${name}" type="fixed"><xacro:insert_block name="origin"/>
<parent link="${parent}"/><child link="${name}"/></joint></xacro:macro><link name="base"/>
<xacro:part name="a" m="${2 * 3}"><origin xyz="0 0 1"/><more><visual/></more></xacro:part>
<xacro:call macro="part" name="b"><origin/><more/></xacro:call>""".replace("INERTIAL", INERTIAL),
    "conditions": """
<xacro:arg name="arm" default="true"/><xacro:property name="n" value="3"/>
<xacro:if value="$(arg arm)"><link name="a"/></xacro:if>
<xacro:unless value="${n == 3 and not n in [1, 2] or n &gt; 7}"><link name="b"/></xacro:unless>
<xacro:if value="${n is not None}"><link name="c"/></xacro:if>""",
    "loops by recursion": """
<xacro:macro name="loop" params="i n"><link name="l${i}"/>
<xacro:if value="${i &lt; n}"><xacro:loop i="${i + 1}" n="${n}"/></xacro:if></xacro:macro>
<xacro:loop i="0" n="100"/>""",
    "lists, dictionaries and texts": """
<xacro:property name="names" value="${['a', 'b'] + list(map(str, range(3)))}"/>
<xacro:property name="size" value="${dict(x=1, y=[2, 3])}"/>
<link name="${names[-1]}_${'-'.join(names[1:])}"/><link name="${size['y'][0]}"/><link name="${size}"/>
<link name="${[n.upper() + str(i) for i, n in python.enumerate(names) if len(n) == 1]}"/>
<link name="${'%s_%03d' % ('a', 7)} ${'left_arm'.replace('_', ' ').title().split()} ${python.sum([0.1] * 3)}"/>
<link name="${sorted([3, 1], reverse=True)}"/>""",
    "yaml": """
<xacro:property name="c" value="${xacro.load_yaml('c.yaml')}"/>
<link name="${c.arm.name}"><visual><origin rpy="0 0 ${c.arm.angle}"
xyz="${' '.join([str(v) for v in c['arm']['xyz']])}"/>
</visual></link><link name="${c.joints[1].name} ${len(c.joints)} ${'x' in c.arm} ${c.arm.get('y', 4)}"/>
<link name="${[j.name for j in c.joints]} ${load_yaml('c.yaml')['arm']['name']}"/>""",
    "includes and namespaces": """
<xacro:include filename="parts/*.xacro" ns="p"/><link name="${p.width * 2}"/><xacro:p.part name="q"/>
<xacro:include filename="$(find pack)/other.xacro"/><xacro:include filename="none.xacro" optional="true"/>
<link name="${python.len('abc')} ${math.pi} ${xacro.arg('size')} $(arg size)"/>""",
    "arguments and the environment": """
<xacro:arg name="n" default="4"/><link name="$(eval 2*n + 1)"/><link name="$(env HOME)"/>
<link name="$(optenv CATENA_UNSET_NAME other words)"/><link name="$(arg n)_${2 ** 10}"/>""",
}

REFERENCE = """\
import sys, xacrodoc
sys.stdout.write(xacrodoc.XacroDoc.from_file(sys.argv[1], resolve_packages=False).to_urdf_string())"""


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN.keys())
def test_what_needs_no_trust_expands_as_xacrodoc_expands_it(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "pack"
    path = write(folder / "r.urdf.xacro", text)
    (folder / "package.xml").write_text("<package><name>pack</name></package>")
    (folder / "c.yaml").write_text(
        "arm: {name: left, angle: !degrees 90/2, xyz: [1, 2.5, -3.0e-1]}\njoints: [{name: a}, {name: b}]\n"
    )
    part = '<xacro:property name="width" value="0.25"/><xacro:macro name="part" params="name"><link name="${name}"/>'
    write(folder / "parts" / "part.xacro", part + "</xacro:macro>")
    write(folder / "other.xacro", '<xacro:arg name="size" default="7"/><link name="other"/>')
    reference = subprocess.run(
        [sys.executable, "-c", REFERENCE, path],
        cwd=folder,
        capture_output=True,
        check=True,
        text=True,
        encoding="utf-8",
    )
    given = Path.cwd()
    os.chdir(folder)  # $(cwd)
    try:
        assert expand(path).text.decode() == reference.stdout
        assert expand(path, trust=True).text.decode() == reference.stdout
    finally:
        os.chdir(given)


def test_packages_are_found_as_those_of_meshes_are(tmp_path: Path) -> None:
    path = write(tmp_path / "a" / "r.xacro", '<xacro:include filename="$(find b)/b.xacro"/>')
    write(tmp_path / "b" / "b.xacro", '<link name="from_b"/>')
    with pytest.raises(XacroError, match="b"):
        expand(path)  # a folder is no package by its name alone
    (tmp_path / "b" / "package.xml").write_text("<package><name>b</name></package>")
    assert b"from_b" in expand(path).text
    (tmp_path / "b" / "package.xml").unlink()
    assert b"from_b" in expand(path, [tmp_path]).text


def test_the_bounds_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    macros = [f'<xacro:macro name="m{i}" params="">{f"<xacro:m{i + 1}/>" * 20}</xacro:macro>' for i in range(20)]
    slow = write(tmp_path / "slow.xacro", *macros, '<xacro:macro name="m20" params=""><a/></xacro:macro><xacro:m0/>')
    large = write(tmp_path / "large.xacro", "<link name=\"${'a' * 900000}\"/>" * 300)
    for path, bounds, words in ((slow, (1, 4096), "takes more than 1 s"), (large, (60, 150), "needs too much memory")):
        monkeypatch.setattr(sandbox, "BOUNDS", {False: bounds})
        with pytest.raises(XacroError, match=words) as stopped:
            expand(path)
        assert "--trust-xacro" in stopped.value.fix


def test_faults_name_their_file_and_line(tmp_path: Path) -> None:
    def fault(*lines: str) -> tuple[str, int | None]:
        with pytest.raises(XacroError) as refused:
            expand(write(tmp_path / "r.xacro", *lines))
        return str(refused.value), refused.value.line

    inner = write(tmp_path / "inner.xacro", "", '<link name="${1 / 0}"/>')
    message, line = fault("", '<xacro:include filename="inner.xacro"/>')
    assert f"({inner}, line 4): division by zero" in message
    assert line is None
    assert fault("", "", "<xacro:unknown/>") == ("xacro cannot expand r.xacro: unknown macro name: xacro:unknown", 5)
    assert fault("", '<xacro:property name="p" value="${1 / 0}"/>', '<link name="${p}"/>')[1] == 4
    assert "mismatched tag: line 3" in fault("<a>")[0] or "mismatched tag: line 4" in fault("<a>")[0]


def test_values_stay_bounded() -> None:
    evaluate = Evaluator({})
    big = [0] * (SIZE // 2)
    with pytest.raises(Refused, match="characters or elements"):
        evaluate("str([a, a, a])", {"a": big, "str": str})
    assert evaluate("a[-1]", {"a": big}) == 0
    assert evaluate("2 ** 4095", {}) == 2**4095
    assert evaluate("1 << 4095", {}) == 1 << 4095
    assert evaluate("0 << 4096", {}) == 0
    with pytest.raises(Refused, match="a whole number of more than 4096 bits"):
        evaluate("0 << 4097", {})
    for power in ("2 ** 4097", "(-2) ** 9999999", "10 ** 10 ** 10"):
        with pytest.raises(Refused, match="a power of more than 4096 bits"):
            evaluate(power, {})


def test_what_is_refused_is_named_and_a_long_expression_shortened() -> None:
    evaluate = Evaluator({})
    with pytest.raises(Refused, match=r"^the loop variable x\[0\]$"):
        evaluate("[1 for x[0] in y]", {"x": [0], "y": [1]})
    name = "x" * 52
    whole, cut = f"lambda: {name}", f"lambda: {name}x"
    assert (len(whole), len(cut)) == (60, 61)
    for text, shown in ((whole, whole), (cut, f"{cut[:57]}…")):
        with pytest.raises(Refused) as refused:
            evaluate(text, {})
        assert str(refused.value) == f"a lambda ({shown})"


def test_commands_and_load_pass_the_trust_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from engine import cli

    path = write(tmp_path / "r.xacro", "<link name=\"${(lambda: 'a')()}\"/>")
    assert cli.main(["check", str(path), "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)[str(path)]
    assert "a lambda" in found["problem"]
    assert cli.main(["check", str(path), "--trust-xacro"]) == 0
    assert cli.main(["info", str(path)]) == 1
    assert cli.main(["info", str(path), "--trust-xacro"]) == 0
    assert engine.load(path, trust_xacro=True).link_names == ("a",)
