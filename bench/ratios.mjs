// @ts-check
// What `npm run bench -- --check` compares with bench/baseline.json: figures beside a peer or a limit of the same run, so that
// they mean the same on every machine. A higher ratio is worse.

/** @typedef {{ readonly [figure: string]: any }} Figures */

/** @type {{ readonly [bench: string]: { readonly args: readonly string[], readonly ratios: (figures: Figures) => { readonly [name: string]: number } } }} */
export const benches = {
  package: {
    args: [],
    ratios: (found) => ({
      // By CPU time: a process that waits for a busy machine is not slower.
      "import openrath / node": found.import_cpu_ms / found.node_cpu_ms,
      "rath list / node": found.cli_list_cpu_ms / found.node_cpu_ms,
      "files loaded by import openrath": found.import_files,
      "megabytes of the tarball": found.tarball_mb,
    }),
  },
  runtime: {
    args: ["--no-agents"],
    ratios: (found) => ({
      "a step of 20 / AI SDK": found.step_ms_20 / found.ai_sdk_step_ms_20,
      "a step of 100 / AI SDK": found.step_ms_100 / found.ai_sdk_step_ms_100,
      "a step of 1,000 / AI SDK": found.step_ms_1000 / found.ai_sdk_step_ms_1000,
      "a step of 20 / AI SDK 7": found.step_ms_20 / found.ai_sdk_7_step_ms_20,
      "a step of 100 / AI SDK 7": found.step_ms_100 / found.ai_sdk_7_step_ms_100,
      "a step of 1,000 / AI SDK 7": found.step_ms_1000 / found.ai_sdk_7_step_ms_1000,
      "a hosted step / a step": found.hosted_step_ms_100 / found.step_ms_100,
      "a durable step / a step and 2 fdatasync":
        found.durable_step_ms / (found.step_ms_100 + 2 * found.fdatasync_ms),
      "replay of a fact / a step": 1000 / found.replay_facts_per_s / found.step_ms_100,
      "100 agents / their latency": found.fanout_100_ms / found.fanout_floor_ms,
    }),
  },
  core: {
    // Nothing here is compared with LangGraph.js, whose SQLite takes minutes to compile.
    args: ["--facts", "100000", "--no-peer"],
    ratios: (found) => ({
      "append with ids / stringify and SHA-256": found.append_vs_limit,
      "append without ids / stringify and SHA-256":
        found.append_10k_without_ids_ms / found.append_limit_10k_ms,
      "load of 10,000 facts / stringify and SHA-256": found.load_10k_ms / found.append_limit_10k_ms,
      "fork at 100,000 facts / at 10": found.fork_ns_100k / found.fork_ns_10,
      "merge on 100,000 facts / on 10": found.merge_ns_trunk_100k / found.merge_ns_trunk_10,
      "durable append / append and fdatasync": found.durable_vs_fdatasync,
      "writing ten times as many facts": found.million_write_ratio,
      "two steps on a long session / their limit of 150 ms": found.million_run_cpu_ms / 150,
      "bytes of a step / its content": found.bytes_per_step_10k / found.content_bytes_per_step,
    }),
  },
  server: {
    args: ["--facts", "100000", "--sessions", "10000", "--streams", "200"],
    ratios: (found) => ({
      "a bare Hono route / a page of facts": found.bare_hono_requests_per_s / found.requests_per_s,
      "the longest page / its limit of 100 ms": found.page_cpu_ms_longest / 100,
      "the median page / its limit of 100 ms": found.page_cpu_ms / 100,
      "events missing": found.stream_events_missing,
    }),
  },
};
