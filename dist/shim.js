#!/usr/bin/env node
// Starts the command, which is in the package of this platform, and ends as it ends.
const { spawn } = require("node:child_process");
const { name } = require("./package.json");

const platform = `${name}-${process.platform}-${process.arch}`;
let binary;
try {
  binary = require.resolve(`${platform}/${name}`);
} catch {
  console.error(`error: there is no package ${platform}: ${name} is not built for this platform, ` +
    "or optional dependencies were not installed");
  process.exit(4);
}
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`error: ${binary} does not start: ${error.message}`);
  process.exit(4);
});
// A terminal sends SIGINT to the command itself; other signals reach only this process.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => {
  if (signal) process.removeAllListeners(signal);
  signal ? process.kill(process.pid, signal) : process.exit(code);
});
