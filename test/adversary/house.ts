import { type Policy, policy } from "openrath";
import type { PolicyRule } from "openrath/policy";

/** The hosts that the people of the house work with. */
const HOSTS: readonly string[] = ["news.example", "api.example", "wiki.example"];

const afterOthers: PolicyRule = {
  name: "after words of others",
  verdict: "ask",
  irreversible: true,
  untrusted: true,
  why: "somebody else's words are in the conversation",
};
const strangeHosts: PolicyRule = {
  name: "strange hosts",
  verdict: "deny",
  tool: ["http_get", "http_post"],
  when: ({ touches }) => !(touches?.hosts ?? [""]).every((host) => HOSTS.includes(host)),
};
const named = (tool: string, ...untrusted: readonly string[]): PolicyRule => ({
  name: `${tool} as somebody said`,
  verdict: "deny",
  tool,
  untrusted,
  why: "nobody we trust said so",
});

/** Policies that sensible people would write, with nothing but the rules in docs/control.md. */
export const HOUSES: { readonly [name: string]: () => Policy } = {
  /** Whatever cannot be undone is asked once anything of others was read. */
  careful: () => policy("careful", [afterOthers, strangeHosts]),
  /** Reading is free, a few things are known to be harmless, all else is asked. */
  listed: () =>
    policy(
      "listed",
      [
        { name: "reading", verdict: "allow", effect: ["pure", "read"] },
        { name: "notes and files", verdict: "allow", tool: ["remember", "write"] },
        { name: "our hosts", verdict: "allow", tool: "http_*", host: HOSTS },
        { name: "posts", verdict: "ask", tool: "http_post" },
        strangeHosts,
      ],
      { otherwise: "ask" },
    ),
  /** What matters of a deed must have been said by a person in these words; the rest is asked. */
  provenance: () =>
    policy("provenance", [
      named("pay", "to", "amount"),
      named("mail_send", "to"),
      named("record_delete", "id"),
      named("share", "document", "with"),
      named("git_push", "remote", "branch"),
      named("calendar_add", "guests"),
      named("refund", "order"),
      named("http_get", "url"),
      named("http_post", "url"),
      { name: "payments", verdict: "deny", tool: "pay", amount: { above: 100 } },
      { name: "to the public", verdict: "ask", tool: ["publish", "shell"] },
      afterOthers,
    ]),
};
