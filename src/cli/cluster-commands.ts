import type { Commands } from "./entry.js";

const NAME = "the name of a submitted session";
const MANY = "may be given more than once";

/** The commands of workers and their queue. */
export const OF_CLUSTER: Commands[string] = {
  worker: {
    creates: true,
    summary: "runs submitted sessions until Ctrl-C or SIGTERM; any number of workers can share a store",
    arguments: { "FILE...": "ES modules that export the agents and workflows that the worker can run" },
    options: {
      "--concurrency <n>": "the number of sessions to run at a time; default 16",
      "--queue <name>": { text: `serves only this queue; ${MANY}`, many: true },
      "--label <name>": { text: `offers this label to the sessions that need it; ${MANY}`, many: true },
      "--memory <n>": "the memory for all its sessions together, in mebibytes",
      "--engine <name>":
        "decides which worker takes a session: local (default), restate, dbos, temporal, a scoped package or a file",
      "--port <n>": "a port on this machine for /health and /metrics; 0 chooses a free port",
    },
    examples: [
      "rath worker agents.mjs",
      "rath worker agents.mjs --queue nightly --concurrency 4 --port 9464",
      "rath worker agents.mjs --engine restate",
    ],
    load: () => import("./command/worker.js"),
  },
  submit: {
    creates: true,
    summary: "adds a session to the queue of the store, where a worker runs it",
    arguments: { FILE: "an ES module, or FILE#NAME for an export other than the default" },
    options: {
      "-i, --input <text>": "the task, in words",
      "--on <session>": "continues this session instead of starting a new one",
      "--name <name>":
        "the name of the session; submitting the same task under the same name again changes nothing",
      "--queue <name>": "the queue; default: default",
      "--priority <n>": "from -999 to 999; the highest runs first; default 0",
      "--not-before <time>": "the earliest start: 2026-11-20T09:00:00Z",
      "--gate <name>": "the session waits until `rath release` opens this gate, the name of a validation",
      "--label <name>": { text: `needs a worker with this label; ${MANY}`, many: true },
      "--needs-sandbox <kind>": { text: `needs a worker with this kind of sandbox; ${MANY}`, many: true },
      "--memory <n>": "the memory that the session needs, in mebibytes",
    },
    examples: ['rath submit agents.mjs#clerk --input "Pay invoice 7." --name invoice-7'],
    load: () => import("./command/submit.js"),
  },
  top: {
    summary: "shows running and waiting sessions, their workers and their cost; live on a terminal",
    options: {
      "--once": "prints the list once",
      "--limit <n>": "at most N sessions of each kind; default 20",
    },
    examples: ["rath top", "rath top --json"],
    load: () => import("./command/top.js"),
  },
  deploy: {
    summary: "lists the module versions that unfinished sessions need, and the workers that have them",
    arguments: {
      "[FILE...]": "modules to compare with; exit code 1 if no worker has an old version that is needed",
    },
    examples: ["rath deploy", "rath deploy agents.mjs --json"],
    load: () => import("./command/deploy.js"),
  },
  pause: {
    summary: "pauses a submitted session before its next effect",
    arguments: { NAME },
    options: { "--off": "continues the session, also one that no worker could continue before" },
    examples: ["rath pause invoice-7", "rath pause invoice-7 --off"],
    load: () => import("./command/pause.js"),
  },
  cancel: {
    summary: "cancels a submitted session, on whichever worker it runs",
    arguments: { NAME },
    options: { "--all": "also cancels the sessions whose names begin with NAME/" },
    examples: ["rath cancel invoice-7", "rath cancel sweep --all"],
    load: () => import("./command/cancel.js"),
  },
  release: {
    summary: "opens a gate: the sessions that were submitted behind it may begin",
    arguments: {
      GATE: "the name of the validation",
      SESSION: "a session whose newest report of it has passed",
    },
    examples: ["rath release tests nightly"],
    load: () => import("./command/release.js"),
  },
  move: {
    summary: "continues a submitted session on another worker, from its next effect on",
    arguments: { NAME, WORKER: "the name of the worker, as rath top shows it" },
    examples: ["rath move invoice-7 host-4711-1f2e3d"],
    load: () => import("./command/move.js"),
  },
  drain: {
    summary: "stops a worker after it has returned its sessions to the queue",
    arguments: { WORKER: "the name of the worker, as rath top shows it" },
    examples: ["rath drain host-4711-1f2e3d"],
    load: () => import("./command/drain.js"),
  },
};
