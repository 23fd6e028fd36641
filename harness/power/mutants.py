"""Changes a Python file in one small way, by its own syntax tree.

    mutants.py list FILE        every way, one JSON object on a line: the bytes from `start` to
                                `end` become `text`; `line` begins the statement that it is in
    mutants.py mark FILE LINES  the file, where each statement of a function adds its line to LINES
"""

import ast
import json
import sys

COMPARED = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
COMPUTED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.Div: "*", ast.FloorDiv: "*"}

# What decorates a function runs when the file is loaded, but says something of that function alone.
OF_A_FUNCTION = ("body", "decorator_list")


class Mutants:
    """Every small change of one text."""

    def __init__(self, text):
        self.text = text
        # Columns of the tree count bytes, and so do we.
        self.lines = [0]
        for line in text.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.found = []
        # Where the statement begins that is being looked at, and in how many functions it is.
        self.statement = 0
        self.depth = 0

    def at(self, line, column):
        return self.lines[line - 1] + column

    def place(self, node):
        start = self.at(node.lineno, node.col_offset)
        return start, self.at(node.end_lineno, node.end_col_offset)

    def source(self, node):
        start, end = self.place(node)
        return self.text[start:end].decode()

    def change(self, kind, start, end, text):
        self.found.append({
            "kind": kind, "line": self.statement, "inside": self.depth > 0,
            "start": start, "end": end, "text": text,
        })  # fmt: skip

    def replace(self, kind, node, text):
        self.change(kind, *self.place(node), text)

    def between(self, kind, left, right, text):
        """What stands between two operands, comments and brackets aside, is the operator."""
        start, end = self.place(left)[1], self.place(right)[0]
        gap = self.text[start:end].decode()
        operator = gap.strip(" \t\r\n\\()")
        if "#" not in gap and operator:
            at = start + len(gap[: gap.index(operator)].encode())
            self.change(kind, at, at + len(operator.encode()), text)

    def drop_one(self, kind, nodes, whole):
        """Each of several in a row is left out once, with the comma beside it."""
        for index, node in enumerate(nodes):
            start, end = self.place(node)
            if isinstance(node, ast.keyword) and node.arg is None:
                start -= 2
            if index + 1 < len(nodes):
                end = self.place(nodes[index + 1])[0]
                if isinstance(nodes[index + 1], ast.keyword) and nodes[index + 1].arg is None:
                    end -= 2
            elif index:
                start = self.place(nodes[index - 1])[1]
            if whole[0] <= start and end <= whole[1]:
                self.change(kind, start, end, "")

    def visit(self, node):
        if isinstance(node, ast.stmt):
            self.statement = node.lineno
        own = getattr(self, "see_" + type(node).__name__, None)
        if own:
            own(node)
        statement = self.statement
        function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for name, field in ast.iter_fields(node):
            self.depth += function and name in OF_A_FUNCTION
            if function and name == "decorator_list":
                self.statement = node.body[0].lineno
            # What a type is said to be changes nothing, and a documentation says nothing.
            silent = name in ("annotation", "returns") or isinstance(node, ast.JoinedStr)
            for child in [] if silent else field if isinstance(field, list) else [field]:
                if isinstance(child, ast.AST) and not documents(child):
                    inner = self.statement
                    self.visit(child)
                    self.statement = inner
            self.depth -= function and name in OF_A_FUNCTION
            self.statement = statement

    def see_Compare(self, node):
        operands = [node.left, *node.comparators]
        for index, operator in enumerate(node.ops):
            self.between("comparison", operands[index], operands[index + 1], COMPARED[type(operator)])

    def see_BoolOp(self, node):
        other = "or" if isinstance(node.op, ast.And) else "and"
        for left, right in zip(node.values, node.values[1:]):
            self.between("and, or", left, right, other)

    def see_BinOp(self, node):
        if type(node.op) in COMPUTED:
            self.between("arithmetic", node.left, node.right, COMPUTED[type(node.op)])

    def see_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            self.replace("condition", node, f"bool({self.source(node.operand)})")

    def condition(self, node):
        self.replace("condition", node.test, f"(not ({self.source(node.test)}))")

    see_If = see_While = see_IfExp = condition

    def see_Constant(self, node):
        value = node.value
        if isinstance(value, bool):
            self.replace("constant", node, str(not value))
        elif isinstance(value, (int, float)):
            self.replace("constant", node, f"({self.source(node)} + 1)")
        elif isinstance(value, (str, bytes)):
            other = '""' if value else '"herma"'
            self.replace("constant", node, ("b" if isinstance(value, bytes) else "") + other)

    def see_Call(self, node):
        function, whole = self.place(node.func)[1], self.place(node)
        given = sorted([*node.args, *node.keywords], key=lambda one: self.place(one)[0])
        given = [one for one in given if not isinstance(one, (ast.GeneratorExp, ast.Starred))]
        self.drop_one("argument", given, (function + 1, whole[1] - 1))

    def see_List(self, node):
        if len(node.elts) > 1:
            self.drop_one("element", node.elts, self.place(node))

    def see_Expr(self, node):
        if isinstance(node.value, ast.Call):
            self.replace("call", node, "pass")

    def see_Return(self, node):
        if node.value is not None and self.source(node.value) != "None":
            self.replace("answer", node, "return None")

    def see_Raise(self, node):
        self.replace("error", node, "pass")

    def see_ExceptHandler(self, node):
        start, end = self.place(node.body[0])[0], self.place(node.body[-1])[1]
        if self.text[start:end].strip() != b"raise":
            self.statement = node.body[0].lineno
            self.change("error", start, end, "raise")

    def see_Continue(self, node):
        self.replace("loop", node, "break")

    def see_Break(self, node):
        self.replace("loop", node, "continue")


def documents(node):
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return constant and isinstance(node.value.value, str)


class Marks(ast.NodeTransformer):
    """A call before each statement of a function, which notes that it ran."""

    def __init__(self):
        self.depth = 0

    def visit_FunctionDef(self, node):
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def generic_visit(self, node):
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if self.depth and isinstance(block, list) and not isinstance(node, ast.ClassDef):
                marked = []
                for one in block:
                    if not isinstance(one, ast.excepthandler):
                        marked.append(ast.parse(f"_herma_ran({one.lineno})").body[0])
                    marked.append(one)
                setattr(node, name, marked)
        return node


RAN = '''
def _herma_ran(line, seen=set()):
    if line not in seen:
        seen.add(line)
        with open(LINES, "a") as file:
            file.write(f"{line}\\n")
'''


def main(command, file, *lines):
    with open(file, "rb") as source:
        text = source.read()
    tree = ast.parse(text)
    if command == "list":
        mutants = Mutants(text)
        mutants.visit(tree)
        for one in mutants.found:
            changed = text[: one["start"]] + one["text"].encode() + text[one["end"] :]
            try:
                compile(changed, file, "exec")
            except SyntaxError:
                continue
            one["was"] = text[one["start"] : one["end"]].decode()
            print(json.dumps(one))
    else:
        marked = Marks().visit(tree)
        first = next(
            index for index, one in enumerate(marked.body)
            if not documents(one) and getattr(one, "module", None) != "__future__"
        )  # fmt: skip
        marked.body[first:first] = ast.parse(RAN.replace("LINES", repr(lines[0]))).body
        print(ast.unparse(ast.fix_missing_locations(marked)))


main(*sys.argv[1:])
