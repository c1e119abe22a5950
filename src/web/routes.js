// The pages, one line each: path (a segment that begins with ":" is a parameter), module, and for the rail name, icon
// and key (`g` and this key go there). A page's default export is a component; it gets {params, query}. Its `title`
// is a text or a function of params, shown as the document's title.

export const routes = [
  { path: [], load: () => import("./pages/overview.js"), name: "Overview", icon: "overview", key: "o" },
  { path: ["topics"], load: () => import("./pages/topics.js"), name: "Topics", icon: "topics", key: "t" },
  { path: ["topics", ":topic"], load: () => import("./pages/topic.js") },
  { path: ["jobs"], load: () => import("./pages/jobs.js"), name: "Jobs", icon: "jobs", key: "j" },
  { path: ["jobs", ":topic", ":jobId"], load: () => import("./pages/job.js") },
  { path: ["dead"], load: () => import("./pages/dead.js"), name: "Dead", icon: "dead", key: "d" },
  { path: ["schedules"], load: () => import("./pages/schedules.js"), name: "Schedules", icon: "schedules", key: "s" },
  { path: ["schedules", ":topic", ":scheduleId"], load: () => import("./pages/schedule.js") },
  { path: ["workflows"], load: () => import("./pages/workflows.js"), name: "Workflows", icon: "workflows", key: "w" },
  { path: ["workflows", ":topic", ":workflowId"], load: () => import("./pages/workflow.js") },
  { path: ["groups"], load: () => import("./pages/groups.js"), name: "Groups", icon: "groups", key: "g" },
  { path: ["receivers"], load: () => import("./pages/receivers.js"), name: "Receivers", icon: "receivers", key: "r" },
  { path: ["pull"], load: () => import("./pages/pull.js"), name: "Pull topics", icon: "pull", key: "p" },
  { path: ["tokens"], load: () => import("./pages/tokens.js"), name: "Tokens", icon: "tokens", key: "k" },
  { path: ["try"], load: () => import("./pages/try.js"), name: "Try it", icon: "try", key: "y" },
];

// Returns {route, params} of the page for these segments, or null.
export function findRoute(segments) {
  for (const one of routes) {
    const params = matchPath(one.path, segments);
    if (params) return { route: one, params };
  }
  return null;
}

function matchPath(pattern, segments) {
  if (pattern.length !== segments.length) return null;
  const params = {};
  for (const [i, part] of pattern.entries()) {
    if (part.startsWith(":")) params[part.slice(1)] = segments[i];
    else if (part !== segments[i]) return null;
  }
  return params;
}
