// @ts-check
// The pages of the documentation in their order: the sidebar of the site and llms.txt are made from this list.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./run.mjs";

/** @typedef {{ file: string, title: string, content: string }} Page */

/** @type {readonly (readonly [group: string, pages: readonly (readonly [file: string, content: string])[]])[]} */
const groups = [
  [
    "Start",
    [
      ["docs/quick-start.md", "install, the first agent, a chat, an approval, a replay"],
      ["docs/concepts.md", "session, fact, module, run, tape, effect; with figures"],
      [
        "docs/guide.md",
        "agents, workflows, durability, approvals, budgets, streaming, replay, what-if, models",
      ],
      ["docs/chat-server.md", "a chat server with streaming and staff approvals, from end to end"],
      ["docs/postgres.md", "a store for many machines: PostgreSQL, durability, poolers, tenants"],
      [
        "docs/cluster.md",
        "many workers on one store: submit, kill one, take over; queues, versions, `rath top`",
      ],
      [
        "docs/scale.md",
        "how far a cluster scales: measured costs, a simulation, and what to do at its limits",
      ],
      ["docs/server.md", "`rath serve`: the store, runs and approvals over HTTP, with verified identities"],
      ["docs/coming-from.md", "coming from LangGraph, AI SDK, OpenAI Agents, Mastra or Temporal"],
      ["docs/paper.md", "the words of the paper, and the names of the package, as programs"],
    ],
  ],
  [
    "Agents and workflows",
    [
      [
        "docs/control.md",
        "routing, policies and guardrails, human in the loop, secrets, compression, skills, MCP, AG-UI, A2A",
      ],
      [
        "docs/patterns.md",
        "multi-agent patterns: ReAct, group chat, supervisor, crew, swarm, debate, Reflexion",
      ],
      [
        "docs/memory.md",
        "memory: write with evidence, recall, vector search, trust, rollback, tiers, backends",
      ],
      ["docs/sandbox.md", "sandboxes, files, branches, git, jobs"],
      ["docs/escapes.md", "what a local sandbox isolates, and its limits"],
    ],
  ],
  [
    "Evidence",
    [
      ["docs/evidence.md", "each claim of the project, with the command that proves it"],
      ["docs/dossier.md", "reports about a session"],
      ["docs/verification.md", "hashes, signatures, checkpoints, inclusion proofs"],
      ["docs/audit.md", "audit questions, retention, erasure, AI Act"],
      ["docs/studio.md", "the page of `rath studio`: graphs, reruns, approvals, comparisons, evidence"],
      ["docs/demo.md", "the demo, and your own programs with `rath run`"],
    ],
  ],
  [
    "Other systems",
    [
      ["docs/formats.md", "import and export of traces and trajectories, OpenTelemetry"],
      ["docs/langgraph.md", "a checkpointer for LangGraph"],
      ["docs/mcp-conformance.md", "results of the MCP conformance suite"],
    ],
  ],
  [
    "Reference",
    [
      ["docs/errors.md", "troubleshooting: every error code, what happened, and what to do"],
      ["docs/cli.md", "the command `rath`: every command, option and exit code"],
      ["docs/format.md", "the record format: lines, ids, blobs, every type of fact"],
      ["docs/api/README.md", "every public name by entry point"],
      ["docs/decisions.md", "the reasons for the design"],
      ["GLOSSARY.md", "the terms"],
      ["ARCHITECTURE.md", "the layers, and the path of one call"],
      ["CHANGELOG.md", "the changes of each version"],
    ],
  ],
];

/**
 * The groups of pages that are there, with their titles.
 *
 * @returns {readonly { readonly group: string, readonly pages: readonly Page[] }[]}
 */
export function documentation() {
  return groups.map(([group, pages]) => ({
    group,
    pages: pages
      .filter(([file]) => existsSync(join(root, file)))
      .map(([file, content]) => ({ file, title: titleOf(file), content })),
  }));
}

/** The words for agents that look a package up: what it is, and which page says what. */
export function llmsText() {
  const { version, description } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const lists = documentation().map(
    ({ group, pages }) =>
      `## ${group}\n\n${pages.map(({ file, title, content }) => `- [${title}](${file}): ${content}`).join("\n")}\n`,
  );
  return `# OpenRath

> A durable runtime for AI agents in TypeScript. ${description} Version ${version}.

Install with \`npm install openrath\`; it needs Node 20.19 or newer. Import from \`openrath\`; larger features have entry points
such as \`openrath/store\`, \`openrath/tool\` and \`openrath/front\`. The command is \`npx rath\`. Links are relative to the package.
Coding agents: read [skills/openrath/SKILL.md](skills/openrath/SKILL.md) first.

${lists.join("\n")}`;
}

/** The first heading of a page, up to its colon. */
function titleOf(/** @type {string} */ file) {
  const [, title = file] = /^# (.*)$/m.exec(readFileSync(join(root, file), "utf8")) ?? [];
  return title.replaceAll("`", "").split(/: /)[0] ?? title;
}
