export { ROLES, type Role } from "./contract/route.js";
export { Auth } from "./identity/auth.js";
export { hasUsers, Users, usersFile } from "./identity/users.js";
export { type Server, type ServerOptions, server, serverWith } from "./server.js";
