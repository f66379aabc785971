export { withTextCalls } from "../pattern/reason/codec.js";
export { debate } from "../pattern/reason/debate.js";
export { deedsOf } from "../pattern/reason/deed.js";
export { episodeOf, importReact, type RecordedEpisode, readReact } from "../pattern/reason/episode.js";
export { inlineTools } from "../pattern/reason/inline.js";
export { mapReduce } from "../pattern/reason/map-reduce.js";
export { PLAN, planExecute, planOf } from "../pattern/reason/plan.js";
export { react } from "../pattern/reason/react.js";
export { reflectionsOf, reflexion } from "../pattern/reason/reflexion.js";
export { bandit, trialsOf } from "../pattern/selector/bandit.js";
export { byModel } from "../pattern/selector/model.js";
export { routeOf, routeTable } from "../pattern/selector/route.js";
export { byScore } from "../pattern/selector/score.js";
export { selector } from "../pattern/selector/selector.js";
export { bySimilarity } from "../pattern/selector/similarity.js";
export { firstOf, vote } from "../pattern/selector/vote.js";
export {
  allOf,
  anyOf,
  chat,
  handedOver,
  lasted,
  maxMessages,
  mentions,
  tokens,
} from "../pattern/team/chat.js";
export { crew } from "../pattern/team/crew.js";
export { crewFromYaml } from "../pattern/team/crew-from-yaml.js";
export { flow, keep, keptIn } from "../pattern/team/flow.js";
export { groupChat } from "../pattern/team/group-chat.js";
export { nestedChat } from "../pattern/team/nested-chat.js";
export { supervisor } from "../pattern/team/supervisor.js";
export { activeIn, swarm } from "../pattern/team/swarm.js";
