export type { Role } from "../server/contract/route.js";
export type { Grant } from "../server/identity/identity.js";
export { Users } from "../server/identity/users.js";
export { type Server, type ServerOptions, server } from "../server/server.js";
