import type { Entry } from "../entry.js";

/** Where newcomers begin. */
export const entries: readonly Entry[] = [
  {
    name: "demo",
    creates: true,
    summary:
      "agents repair a small repository: a patch is rejected, two repairs compete, the run is killed and resumed",
    options: [
      { flags: "--sandbox <kind>", text: "where the tests run", choices: ["local", "host"] },
      { flags: "--scripted", text: "asks no model, even where the environment names one" },
    ],
    examples: [
      "rath demo",
      "rath demo --json",
      "OPENAI_BASE_URL=http://localhost:11434/v1 RATH_MODEL=qwen3 rath demo   # the same with a model that answers",
    ],
    load: () => import("../command/demo.js"),
  },
];
