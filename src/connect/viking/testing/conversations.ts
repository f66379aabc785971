import { type Files, Refusal } from "./files.js";
import { type Body, type Routed, text } from "./route.js";

/** Sessions: what was said in them is archived by a commit, and learnt from a little later, as a task. */
export function conversationRoutes(
  files: Files,
  learning: number | "never" | "fails",
): {
  readonly routes: readonly Routed[];
  readonly used: ReadonlyMap<string, readonly string[]>;
  sessionAt(id: string | undefined): unknown;
} {
  const used = new Map<string, string[]>();
  const sessions = new Map<string, { messages: Body[]; archives: number }>();
  const tasks = new Map<string, { session: string; archive: string; done: number; lines: number }>();
  const sessionAt = (id: string | undefined) => {
    const found = sessions.get(id ?? "");
    if (found === undefined) throw new Refusal("NOT_FOUND", 404, `Session ${id} not found`);
    return found;
  };
  const routes: readonly Routed[] = [
    [
      "POST",
      /^\/api\/v1\/sessions$/,
      ({ body, user }) => {
        const session_id = body.session_id === undefined ? `s${sessions.size + 1}` : text(body.session_id);
        sessions.set(session_id, { messages: [], archives: 0 });
        return {
          session_id,
          uri: `viking://user/${user}/sessions/${session_id}`,
          user: { account_id: "default", user_id: user },
        };
      },
    ],
    [
      "POST",
      /^\/api\/v1\/sessions\/([^/]+)\/messages$/,
      ({ body, ids }) => {
        const { messages } = sessionAt(ids[0]);
        if (body.role !== "user" && body.role !== "assistant")
          throw new Refusal("INVALID_ARGUMENT", 400, "no such role");
        messages.push(body);
        return { session_id: ids[0], message_count: messages.length };
      },
    ],
    [
      "POST",
      /^\/api\/v1\/sessions\/([^/]+)\/used$/,
      ({ body, ids }) => {
        sessionAt(ids[0]);
        const contexts = (body.contexts as string[] | undefined) ?? [];
        used.set(ids[0] ?? "", [...(used.get(ids[0] ?? "") ?? []), ...contexts]);
        return { session_id: ids[0], contexts_used: contexts.length, skills_used: 0 };
      },
    ],
    [
      "POST",
      /^\/api\/v1\/sessions\/([^/]+)\/commit$/,
      ({ ids, user }) => {
        const [session_id = ""] = ids;
        const session = sessionAt(session_id);
        if (session.messages.length === 0)
          return {
            session_id,
            status: "skipped",
            task_id: null,
            archive_uri: null,
            archived: false,
            reason: "no_messages",
          };
        session.archives += 1;
        const archive = `user/${user}/sessions/${session_id}/history/archive_${String(session.archives).padStart(3, "0")}`;
        const lines = session.messages.splice(0);
        files.write(
          `${archive}/messages.jsonl`,
          lines.map((one) => JSON.stringify(one)).join("\n"),
          "replace",
          false,
        );
        const task_id = `task-${tasks.size + 1}`;
        tasks.set(task_id, {
          session: session_id,
          archive,
          done: performance.now() + (typeof learning === "number" ? learning : 0),
          lines: lines.length,
        });
        return {
          session_id,
          status: "accepted",
          task_id,
          archive_uri: `viking://${archive}`,
          archived: true,
        };
      },
    ],
    [
      "GET",
      /^\/api\/v1\/tasks\/([^/]+)$/,
      ({ ids }) => {
        const task = tasks.get(ids[0] ?? "");
        if (task === undefined) throw new Refusal("NOT_FOUND", 404, "there is no such task");
        const base = { task_id: ids[0], task_type: "session_commit", resource_id: task.session, stage: null };
        if (learning === "fails")
          return { ...base, status: "failed", result: null, error: "the model did not answer" };
        if (learning === "never" || performance.now() < task.done)
          return { ...base, status: "running", result: null, error: null };
        return {
          ...base,
          status: "completed",
          error: null,
          result: {
            session_id: task.session,
            archive_uri: `viking://${task.archive}`,
            memories_extracted: { events: task.lines },
          },
        };
      },
    ],
  ];
  return { routes, used, sessionAt };
}
