// Loaded by OpenCode in every session of run_bench, in all arms alike. Adds the benchmark's instructions to the system prompt and
// reports on standard output, one JSON line each, what `opencode run --format json` leaves out.
const INSTRUCTIONS = "@INSTRUCTIONS@";
const PLACEBO = "@PLACEBO@";
const ALIVE_MS = 1000;

const tell = (event, more = {}) => process.stdout.write(`${JSON.stringify({ type: "observed", event, ...more })}\n`);

/** Report responses that refuse a request, since a retry is announced without its status. */
const observeResponses = () => {
  const original = globalThis.fetch;
  const observed = async (...given) => {
    const response = await original(...given);
    if (response.status >= 400) tell("refused", { status: response.status, retryAfter: response.headers.get("retry-after") });
    return response;
  };
  globalThis.fetch = Object.assign(observed, original);
};

export const Observer = async ({ client }) => {
  let alive = 0;
  let started = false;
  const seen = new Set();
  observeResponses();

  const injected = (event, text) => {
    if (seen.has(text)) return;
    seen.add(text);
    tell("injected", { name: event, text });
  };

  return {
    event: async ({ event }) => {
      const { status, part, info } = event.properties ?? {};
      if (event.type === "session.status" && status?.type === "retry") {
        tell("retry", { attempt: status.attempt, message: status.message, next: status.next });
      } else if (event.type === "session.created" && info?.id) {
        tell("session", { id: info.id });
      } else if (part?.type === "tool") {
        tell("tool", { id: part.callID, status: part.state?.status });
      } else if (event.type.startsWith("message.part") && Date.now() - alive > ALIVE_MS) {
        alive = Date.now();
        tell("alive");
      }
    },

    "chat.message": async ({ sessionID }, output) => {
      for (const part of output.parts) {
        if (part.type === "text" && part.synthetic) injected("UserPromptSubmit", part.text);
      }
      if (!PLACEBO) return;
      const last = output.parts.at(-1).id; // the ids of parts sort by time
      output.parts.push({ id: `${last}p`, sessionID, messageID: output.message.id, type: "text", text: PLACEBO, synthetic: true });
      injected("UserPromptSubmit", PLACEBO);
    },

    "experimental.chat.system.transform": async (_, output) => {
      for (const text of output.system.slice(1)) injected("SessionStart", text);
      if (INSTRUCTIONS) output.system.push(INSTRUCTIONS);
      if (started) return;
      started = true;
      tell("init", { servers: (await client.mcp.status()).data });
    },
  };
};
