// Drives the SDK of cline for cline.py: a request as a JSON line on standard input, a reply on standard output.
// `node cline.mjs SDK`, where SDK is the file of @cline/core that its users import.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const replies = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr); // Replies alone go to standard output.

const { ClineCore } = await import(pathToFileURL(process.argv[2]).href);
let approved, asked;
const requestToolApproval = async () => (asked++, { approved });
const core = await ClineCore.create({
  clientName: "herma", backendMode: "local", capabilities: { requestToolApproval }, toolPolicies: { "*": { autoApprove: false } },
});
const source = "herma";
let config, session;

const start = (more = {}) => ({ config: { ...config, ...more }, interactive: true, source });
const checkpoints = async () => (await core.get(session))?.metadata?.checkpoint?.history ?? [];

const operations = {
  async open({ project, model, resumed }) {
    if (session) await core.stop(session);
    config = {
      providerId: "openai-compatible", modelId: "scripted", apiKey: "any", baseUrl: `${model}/v1`, cwd: project,
      workspaceRoot: project, mode: "act", enableTools: true, enableSpawnAgent: true, enableAgentTeams: false,
      systemPrompt: "You are a coding agent.", checkpoint: { enabled: true },
    };
    const input = start(resumed ? { sessionId: resumed } : {});
    if (resumed) input.initialMessages = await core.readMessages(resumed);
    session = (await core.start(input)).sessionId;
    return { session };
  },
  async say({ text, approve }) {
    approved = approve;
    asked = 0;
    const result = await core.send({ sessionId: session, prompt: text });
    const tools = result?.toolCalls?.map((call) => call.name);
    return { said: result?.text ?? "", finish: result?.finishReason, tools, asked };
  },
  async list() {
    return { history: await checkpoints() };
  },
  async preview({ run }) {
    const { diffs } = await core.compareCheckpoint({ sessionId: session, checkpointRunCount: run });
    return { files: diffs.map((diff) => diff.filePath), text: JSON.stringify(diffs) };
  },
  async restore({ run, conversation }) {
    const input = { sessionId: session, checkpointRunCount: run, start: start() };
    // The message of the undone turn goes back to the user's input, as in the terminal interface of cline.
    input.restore = { messages: conversation, omitCheckpointMessageFromSession: true };
    const restored = await core.restore(input);
    session = restored.sessionId ?? session;
    return { session };
  },
  async close() {
    await core.stop(session);
    await core.dispose();
    return {};
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  let reply;
  try {
    reply = await operations[request.op](request);
  } catch (error) {
    reply = { error: `${error.code ?? error.name}: ${error.message}` };
  }
  replies(JSON.stringify(reply) + "\n");
  if (request.op === "close") process.exit(0);
}
