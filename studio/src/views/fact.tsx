import { Navigate, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useFact } from "../data";
import { useTitle } from "../frame";
import { Empty, Loaded } from "../ui";
import { Details } from "./details";

/** A permanent link: opens the fact in the session that holds it. */
export function FactPage(): ReactNode {
  const { fact = "" } = useParams({ strict: false }) as { fact?: string };
  useTitle("Fact");
  const query = useFact(fact);
  return (
    <Loaded query={query}>
      {(found) =>
        found.name === null ? (
          <Empty title="No named session contains this fact">
            <Details id={found.id} close={() => history.back()} />
          </Empty>
        ) : (
          <Navigate
            to={"/s/$name/graph" as "/"}
            params={{ name: found.name } as never}
            search={{ at: found.id } as never}
            replace
          />
        )
      }
    </Loaded>
  );
}
