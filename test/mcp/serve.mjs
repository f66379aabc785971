// @ts-check
// A program that serves a workflow and its sessions on its input and output.
import { openRath } from "openrath";
import { mcpServer } from "openrath/mcp";
import { approve, workflow } from "openrath/workflow";

const consent = approve("consent", { pay: 130 });
const pay = workflow("pay", { consent }, async (session, parts) => {
  const { session: next, approved } = await parts.consent.call(session);
  return next.append({
    type: "message-say",
    role: "assistant",
    content: approved ? "It is paid." : "It is refused.",
  });
});

const rath = openRath({ store: "memory:" });
await mcpServer({ rath, modules: { pay }, by: "user:owner", selfApproval: true }).serveStdio();
