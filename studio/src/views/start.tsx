import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { offline, post } from "../client";
import { useSession, useWho } from "../data";
import { useAddress } from "../route";
import { Sheet } from "../sheet";
import { Button, Trouble } from "../ui";

type Ran = { readonly name: string; readonly state: string };

/** Starts a run of a program that the server has, and opens it. */
export function NewRun(): ReactNode {
  const modules = useWho().data?.modules ?? [];
  const [isOpen, setOpen] = useState(false);
  if (modules.length === 0) return null;
  return (
    <>
      <Button main onClick={() => setOpen(true)}>
        New run
      </Button>
      {isOpen && <Form modules={modules} close={() => setOpen(false)} />}
    </>
  );
}

function Form({
  modules,
  close,
}: {
  readonly modules: readonly string[];
  readonly close: () => void;
}): ReactNode {
  const { go } = useAddress();
  const [module, setModule] = useState(modules[0] ?? "");
  const [text, setText] = useState("");
  const [name, setName] = useState("");
  const start = useMutation({
    mutationFn: () => post<Ran>("/api/runs", { module, text, ...(name !== "" && { name }) }),
    onSuccess: (made) => {
      close();
      go(`/s/${encodeURIComponent(made.name)}/turns`);
    },
  });
  return (
    <Sheet title="New run" close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          start.mutate();
        }}
      >
        <label className="block">
          <span className="meta">Program</span>
          <select className="field" value={module} onChange={(event) => setModule(event.target.value)}>
            {modules.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label className="mt-3 block">
          <span className="meta">Task</span>
          <textarea
            className="field"
            rows={5}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        </label>
        <label className="mt-3 block">
          <span className="meta">Name of the session (optional)</span>
          <input className="field" value={name} onChange={(event) => setName(event.target.value)} />
        </label>
        <p className="mt-4">
          <button
            type="submit"
            className="btn btn-main"
            disabled={text === "" || start.isPending || start.isSuccess}
          >
            Start
          </button>
        </p>
        {start.error !== null && <Trouble error={start.error} />}
      </form>
    </Sheet>
  );
}

/** What can be done with the run of a session now: go on, cancel. */
export function RunActs({ name }: { readonly name: string }): ReactNode {
  const session = useSession(name).data;
  const modules = useWho().data?.modules ?? [];
  const act = useMutation({
    mutationFn: (kind: "resume" | "cancel") => post(`/api/sessions/${encodeURIComponent(name)}/${kind}`, {}),
  });
  if (offline !== undefined || session?.module === undefined) return null;
  const isOver = ["finished", "failed", "cancelled"].includes(session.state);
  if (isOver || !modules.includes(session.module)) return null;
  return (
    <span className="flex items-center gap-1">
      <Button quiet disabled={act.isPending} onClick={() => act.mutate("resume")}>
        Resume
      </Button>
      <Button quiet disabled={act.isPending} onClick={() => act.mutate("cancel")}>
        Cancel
      </Button>
      {act.error !== null && <span className="meta text-bad">{act.error.message}</span>}
    </span>
  );
}

/** The next turn of a conversation, where the server has the program that it is with. */
export function Composer({ name }: { readonly name: string }): ReactNode {
  const session = useSession(name).data;
  const modules = useWho().data?.modules ?? [];
  const [text, setText] = useState("");
  const say = useMutation({
    mutationFn: () => post<Ran>("/api/runs", { module: session?.module, name, text, turn: true }),
    onSuccess: () => setText(""),
  });
  if (session?.module === undefined || session.state !== "finished" || !modules.includes(session.module))
    return null;
  return (
    <form
      className="no-print shrink-0 border-t border-rule bg-raised p-3 mid:px-8"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "" && !say.isPending) say.mutate();
      }}
    >
      <div className="flex max-w-[88ch] items-end gap-2">
        <textarea
          aria-label={`Say something to ${session.module}`}
          placeholder={`Say something to ${session.module}`}
          rows={2}
          className="field"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey))
              event.currentTarget.form?.requestSubmit();
          }}
        />
        <button type="submit" className="btn btn-main" disabled={text.trim() === "" || say.isPending}>
          Say
        </button>
      </div>
      {say.error !== null && <Trouble error={say.error} />}
    </form>
  );
}
