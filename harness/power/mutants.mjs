// Changes a JavaScript module in one small way, by its syntax tree.
//
//   mutants.mjs PARSER list FILE        every way, one JSON object on a line: the bytes from `start`
//                                       to `end` become `text`; `line` begins the statement it is in
//   mutants.mjs PARSER mark FILE LINES  the module, where each statement adds its line to LINES
//
// A setting outside of functions, such as `{ pager: true }`, counts as a statement that runs when it is
// read: one that nothing reads can be changed without any effect.
//
// PARSER is the folder that npm installed acorn into.

import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as path from "node:path";

const [parser, command, file, lines] = process.argv.slice(2);
const { parse } = createRequire(path.resolve(parser, "here.js"))("acorn");
const source = fs.readFileSync(file, "utf8");
const options = { ecmaVersion: "latest", sourceType: "module", locations: true };
const tree = parse(source, options);

const COMPARED = {
  "==": "!=", "!=": "==", "===": "!==", "!==": "===",
  "<": "<=", "<=": "<", ">": ">=", ">=": ">", instanceof: null,
};
const COMPUTED = { "+": "-", "-": "+", "*": "/", "/": "*", "%": "*" };
const JOINED = { "&&": "||", "||": "&&", "??": "&&" };

const found = [];
// Where the statement begins that is being looked at, and whether that is in a function.
let statement = 0;
let inside = false;

const text = (node) => source.slice(node.start, node.end);

function change(kind, start, end, to) {
  found.push({ kind, line: statement, inside, start, end, text: to });
}

const replace = (kind, node, to) => change(kind, node.start, node.end, to);

/** The operator stands alone between its operands. */
function operator(kind, node, to) {
  const gap = source.slice(node.left.end, node.right.start);
  const at = node.left.end + gap.indexOf(node.operator);
  change(kind, at, at + node.operator.length, to);
}

/** Each of several in a row is left out once, with the comma beside it. */
function dropOne(kind, nodes) {
  nodes.forEach((node, index) => {
    if (!node || node.type === "SpreadElement") return;
    const next = nodes[index + 1];
    const last = index ? nodes[index - 1].end : node.start;
    const outer = [statement, inside];
    if (isSetting(node)) [statement, inside] = [node.loc.start.line, true];
    change(kind, next ? node.start : last, next ? next.start : node.end, "");
    [statement, inside] = outer;
  });
}

/** Whether this is a property outside of functions whose value stands there. */
function isSetting(node) {
  const stands = node.type === "Property" && node.value.type === "Literal";
  return stands && !inside && !node.computed;
}

const condition = (node) => replace("condition", node.test, `(!(${text(node.test)}))`);

const SEE = {
  BinaryExpression(node) {
    if (COMPARED[node.operator]) operator("comparison", node, COMPARED[node.operator]);
    if (COMPUTED[node.operator]) operator("arithmetic", node, COMPUTED[node.operator]);
  },
  LogicalExpression: (node) => operator("and, or", node, JOINED[node.operator]),
  UnaryExpression(node) {
    if (node.operator === "!") replace("condition", node, `!!(${text(node.argument)})`);
  },
  IfStatement: condition,
  WhileStatement: condition,
  ConditionalExpression: condition,
  Literal(node) {
    if (typeof node.value === "boolean") replace("constant", node, String(!node.value));
    else if (typeof node.value === "number") replace("constant", node, `(${text(node)} + 1)`);
    else if (typeof node.value === "string") {
      replace("constant", node, node.value ? '""' : '"herma"');
    }
  },
  TemplateLiteral: (node) => replace("constant", node, '""'),
  CallExpression: (node) => dropOne("argument", node.arguments),
  NewExpression: (node) => dropOne("argument", node.arguments),
  ArrayExpression: (node) => dropOne("element", node.elements),
  ObjectExpression: (node) => dropOne("element", node.properties),
  ExpressionStatement(node) {
    const called = node.expression.type === "AwaitExpression"
      ? node.expression.argument : node.expression;
    if (called.type === "CallExpression") replace("call", node, ";");
  },
  ReturnStatement(node) {
    if (node.argument) replace("answer", node, "return undefined;");
  },
  ThrowStatement: (node) => replace("error", node, ";"),
  CatchClause(node) {
    const throws = node.param ? `throw ${text(node.param)};` : 'throw new Error("herma");';
    if (node.body.body[0]) statement = node.body.body[0].loc.start.line;
    replace("error", node.body, `{ ${throws} }`);
  },
  ContinueStatement: (node) => replace("loop", node, "break;"),
  BreakStatement: (node) => replace("loop", node, "continue;"),
};

const marks = [];
const mark = (start, end, to) => marks.push({ start, end, to });

function isStatement(node) {
  return node.type.endsWith("Statement") || node.type === "VariableDeclaration";
}

function visit(node, inBlock, inFunction) {
  const outer = statement;
  inside = inFunction;
  if (inBlock && node.type !== "BlockStatement") {
    statement = node.loc.start.line;
    if (inFunction && isStatement(node)) mark(node.start, node.start, `__hermaRan(${statement});`);
  }
  const setting = isSetting(node);
  if (setting) {
    statement = node.loc.start.line;
    const value = text(node.value);
    mark(node.start, node.end, `get ${text(node.key)}() { __hermaRan(${statement}); return ${value}; }`);
  }
  SEE[node.type]?.(node);
  const deeper = inFunction || setting || node.type.includes("Function");
  const here = statement;
  for (const [name, field] of Object.entries(node)) {
    // What is imported from where is no behaviour, and a property's name no constant.
    const isName = name === "source" || (name === "key" && !node.computed);
    for (const child of isName ? [] : [field].flat()) {
      if (typeof child?.type === "string") {
        visit(child, ["BlockStatement", "Program"].includes(node.type), deeper);
        statement = here;
      }
    }
  }
  statement = outer;
}

visit(tree, false, false);

if (command === "list") {
  const bytes = (end) => Buffer.byteLength(source.slice(0, end));
  for (const one of found) {
    const changed = source.slice(0, one.start) + one.text + source.slice(one.end);
    try {
      parse(changed, options);
    } catch {
      continue;
    }
    const was = source.slice(one.start, one.end);
    const place = { start: bytes(one.start), end: bytes(one.end) };
    console.log(JSON.stringify({ ...one, ...place, was }));
  }
} else {
  let marked = source;
  for (const { start, end, to } of marks.sort((one, other) => other.start - one.start)) {
    marked = `${marked.slice(0, start)}${to}${marked.slice(end)}`;
  }
  console.log(`${marked}
import * as __hermaFiles from "node:fs";
var __hermaSeen;
function __hermaRan(line) {
  __hermaSeen ??= new Set();
  if (__hermaSeen.has(line)) return;
  __hermaSeen.add(line);
  __hermaFiles.appendFileSync(${JSON.stringify(lines)}, \`\${line}\\n\`);
}`);
}
