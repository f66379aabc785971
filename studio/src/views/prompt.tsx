import type { ReactNode } from "react";
import { useList, useOf } from "../data";
import { useAddress } from "../route";
import { Sheet } from "../sheet";
import type { Prompt as Whole } from "../types";
import { Button, count, Empty, Id, Loaded, Words } from "../ui";
import { Content } from "./content";

/** The messages that a model was sent, made again from the record and held against the digest that the call recorded. */
export function Prompt({ name, fact }: { readonly name: string; readonly fact: string }): ReactNode {
  const { set } = useAddress();
  const query = useOf<Whole>(name, "/prompt", { fact, limit: 1 });
  return (
    <Sheet title="The prompt as it was sent" wide close={() => set({ tab: undefined })}>
      <Loaded query={query}>
        {(prompt) =>
          prompt.messages === 0 ? (
            <Empty title="This prompt cannot be shown">
              {prompt.gaps.map((gap) => (
                <Words key={gap} className="block">
                  {gap}
                </Words>
              ))}
            </Empty>
          ) : (
            <>
              <p className={prompt.rendered ? "text-good" : "text-warn"}>
                {prompt.rendered
                  ? "Verified: these bytes have the digest that the call recorded"
                  : "Rendered from the record, not verified: the call recorded no digest"}
                {prompt.digest !== null && (
                  <>
                    : <Id id={prompt.digest} />
                  </>
                )}
              </p>
              <p className="meta mt-1">
                {count(prompt.messages, "message")}, {count(prompt.characters, "character")}
              </p>
              <Messages name={name} fact={fact} />
            </>
          )
        }
      </Loaded>
    </Sheet>
  );
}

function Messages({ name, fact }: { readonly name: string; readonly fact: string }): ReactNode {
  const list = useList<Whole["items"][number]>(
    ["name", name],
    `/api/sessions/${encodeURIComponent(name)}/prompt`,
    { fact, limit: 50 },
  );
  return (
    <>
      <ol>
        {list.items.map(({ role, content }, at) => (
          <li key={at} className="mt-3 border-l-2 border-rule pl-3">
            <h3 className="meta font-semibold uppercase tracking-wide">
              {at + 1}. {role}
            </h3>
            <Content shown={content} />
          </li>
        ))}
      </ol>
      {list.hasMore && (
        <p className="mt-3">
          <Button onClick={list.more}>More messages</Button>
        </p>
      )}
    </>
  );
}

/** Opens the prompt behind a fact; the address keeps it open. */
export function PromptOf({ name, fact }: { readonly name: string; readonly fact: string }): ReactNode {
  const { search, set } = useAddress();
  return (
    <>
      <Button hint="Show what the model was sent" onClick={() => set({ at: fact, tab: "prompt" })}>
        Prompt
      </Button>
      {search.tab === "prompt" && <Prompt name={name} fact={fact} />}
    </>
  );
}
