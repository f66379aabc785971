import { RequestError } from "../../connect/front/index.js";
import type { Handlers } from "../call.js";
import { isSecure } from "./auth.js";

export const identityHandlers: Pick<Handlers, "me" | "start" | "leave"> = {
  me: ({ identity: { isOwner: _, ...identity }, auth, store, modules }) => ({
    ...identity,
    single: auth.isSingle,
    store: store.identity ?? store.url.replace(/:.*$/s, ""),
    modules: Object.keys(modules),
  }),
  start: async ({ auth, body, request }) => {
    const entered = await auth.enter(body.token, isSecure(request));
    if (entered === undefined)
      throw new RequestError(
        401,
        "identity-missing",
        "This token proves nobody: it was used, revoked, or has expired.",
        {
          hint: "restart the server to get a new link, or use a token from rath user add",
        },
      );
    const { cookie, identity } = entered;
    return Response.json({ principal: identity.principal }, { headers: { "set-cookie": cookie } });
  },
  leave: ({ auth, request }) => Response.json({}, { headers: { "set-cookie": auth.leave(request) } }),
};
