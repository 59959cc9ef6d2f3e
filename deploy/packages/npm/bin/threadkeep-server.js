#!/usr/bin/env node
// Runs the program with the arguments of this command, hands signals on, and ends as it ends.

import { spawn } from "node:child_process";
import { program } from "../index.js";

const child = spawn(program(), process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
