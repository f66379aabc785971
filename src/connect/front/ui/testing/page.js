// The page of the browser test. When it is bundled, `useChat` and `ai` are replaced by those of the version under test.

import { DefaultChatTransport } from "ai";
import { createElement as h, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { useChat } from "use-chat7";

const api = "/api/chat";
const id = new URLSearchParams(location.search).get("chat") ?? "c1";

function Chat({ saved }) {
  const [text, setText] = useState("");
  const { messages, sendMessage, status, error, stop, resumeStream } = useChat({
    id,
    messages: saved,
    resume: saved.length > 0,
    transport: new DefaultChatTransport({ api }),
  });
  return h(
    "main",
    { "data-status": status },
    messages.map((message) =>
      h(
        "section",
        { key: message.id, className: message.role },
        message.parts.map((part, place) => h(Part, { key: place, part })),
      ),
    ),
    error && h("p", { className: "error" }, error.message),
    h(
      "form",
      {
        onSubmit(event) {
          event.preventDefault();
          sendMessage({ text });
          setText("");
        },
      },
      h("input", { value: text, onChange: (event) => setText(event.target.value) }),
      h("button", { id: "send", type: "submit" }, "Send"),
    ),
    h(
      "button",
      {
        id: "stop",
        type: "button",
        onClick: () => stop().then(() => fetch(`${api}/${id}`, { method: "DELETE" })),
      },
      "Stop",
    ),
    h("button", { id: "look", type: "button", onClick: () => resumeStream() }, "Look again"),
  );
}

function Part({ part }) {
  if (part.type === "text") return h("p", null, part.text);
  if (part.type === "data-awaited") return h("p", { className: "awaited" }, `waits for ${part.data.kind}`);
  if (part.type.startsWith("tool-")) return h("p", { className: "tool" }, `${part.type} ${part.state}`);
  return null;
}

function Page() {
  const [saved, setSaved] = useState();
  useEffect(() => {
    fetch(`${api}/${id}`).then(async (response) => setSaved(response.ok ? await response.json() : []));
  }, []);
  return saved === undefined ? null : h(Chat, { saved });
}

createRoot(document.querySelector("#root")).render(h(Page));
