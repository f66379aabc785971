import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { offline, type Problem, post } from "./client";
import { startLive } from "./live";
import { Pages } from "./router";
import "./style.css";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      gcTime: 120_000,
      refetchOnWindowFocus: false,
      // A refusal stays one; a server that is away is asked again by the stream of events.
      retry: false,
      ...(offline !== undefined && { staleTime: Number.POSITIVE_INFINITY }),
    },
  },
});

/** The link that rath studio prints carries a token that works once: it becomes a cookie and leaves the address. False for a used one. */
async function signIn(): Promise<boolean> {
  const token = /^#token=([\w.~-]+)$/.exec(location.hash)?.[1];
  if (token === undefined) return true;
  history.replaceState(null, "", location.pathname + location.search);
  return post("/api/start", { token }).then(
    () => true,
    ({ status }: Problem) => status !== 401,
  );
}

void signIn().then((isValid) => {
  startLive(queries, !isValid);
  const place = document.getElementById("root");
  if (place !== null)
    createRoot(place).render(
      <StrictMode>
        <QueryClientProvider client={queries}>
          <Pages />
        </QueryClientProvider>
      </StrictMode>,
    );
});
