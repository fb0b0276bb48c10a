// memoryd for OpenCode. Written by `memoryd connect opencode`, removed by `memoryd connect opencode --undo`.
// Passes the session's events to memoryd's hook script and adds what it answers to the session. It fails open: without an
// answer in time, the session continues without memory.
import { spawn, spawnSync } from "node:child_process";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

const HOOK = "@HOOK@";
const SERVER = "@SERVER@";
const ENV = "@ENV@";
const ANSWER_MS = 900; // the hook script itself answers within 300 ms
const LOOKUP_MS = 300;
const EXIT_MS = 2000;
const MAX_ANSWER = 1_000_000;
const GUARDED = { bash: "Bash", edit: "Edit", write: "Write" };
const RENAMED = { filePath: "file_path", oldString: "old_string", newString: "new_string" };

const database = () => {
  const folder = join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "opencode");
  const named = process.env.OPENCODE_DB || "opencode.db";
  return isAbsolute(named) ? named : join(folder, named);
};

const environment = () => {
  const kept = Object.entries(process.env).filter(([name]) => !/^CLAUDE_(PLUGIN_|PROJECT_DIR)/.test(name));
  return { ...Object.fromEntries(kept), ...ENV, MEMORYD_CLIENT: "opencode" };
};

const patience = () => ANSWER_MS + 1000 * Math.min(4, Number(process.env.MEMORYD_HOOK_SECONDS) || 0);

const arguments_ = (event) => [...HOOK.slice(1), event];

/** Send an event. Resolve to the answer, or to {} if there is none in time. */
const send = (event, payload) =>
  new Promise((resolve) => {
    let text = "";
    let child;
    const timer = setTimeout(() => end(), patience());
    const end = (complete) => {
      clearTimeout(timer);
      if (!complete) child?.kill("SIGKILL");
      try {
        resolve(complete && text ? JSON.parse(text) : {});
      } catch {
        resolve({});
      }
    };
    try {
      child = spawn(HOOK[0], arguments_(event), { env: environment(), stdio: ["pipe", "pipe", "ignore"] });
      child.on("error", () => end());
      child.stdin.on("error", () => {});
      child.stdout.on("data", (part) => {
        text += part;
        if (text.length > MAX_ANSWER) end();
      });
      child.on("close", () => end(true));
      child.stdin.end(JSON.stringify(payload));
    } catch {
      end();
    }
  });

const within = (promise, milliseconds) =>
  Promise.race([promise.catch(() => undefined), new Promise((resolve) => setTimeout(resolve, milliseconds))]);

const contextOf = (answer) => answer?.hookSpecificOutput?.additionalContext || "";

export const Memoryd = async ({ client, directory }) => {
  const sessions = new Map(); // the sessions of this process: whether of a subagent, and the context of their start

  const payload = (id, more = {}) => ({
    session_id: id,
    cwd: directory,
    transcript_path: join(database(), id),
    ...(sessions.get(id)?.subagent ? { agent_id: id } : {}),
    ...more,
  });

  const known = async (id) => {
    if (!sessions.has(id)) {
      const found = await within(client.session.get({ path: { id } }), LOOKUP_MS);
      sessions.set(id, { subagent: Boolean(found?.data?.parentID), start: "", isNew: false });
    }
    return sessions.get(id);
  };

  const begin = async (session, id) => {
    if (session.begun || session.subagent) return;
    session.begun = true;
    const answer = await send("SessionStart", payload(id, { source: session.isNew ? "startup" : "resume" }));
    session.start = contextOf(answer);
    const message = answer.systemMessage;
    if (message) await within(client.tui.showToast({ body: { message, variant: "info" } }), LOOKUP_MS);
  };

  process.on("exit", () => {
    for (const [id, session] of sessions) {
      if (!session.begun) continue;
      const options = { env: environment(), input: JSON.stringify(payload(id)), timeout: EXIT_MS, stdio: ["pipe", "ignore", "ignore"] };
      try {
        spawnSync(HOOK[0], arguments_("SessionEnd"), options);
      } catch {
        return; // the next session reads this one's log
      }
    }
  });

  return {
    config: async (config) => {
      config.mcp ??= {};
      config.mcp.memoryd ??= { type: "local", command: SERVER, environment: ENV };
    },

    event: async ({ event }) => {
      const { sessionID, info } = event.properties ?? {};
      if (event.type === "session.created" && info?.id) {
        sessions.set(info.id, { subagent: Boolean(info.parentID), start: "", isNew: true });
      } else if (event.type === "session.idle" && sessions.get(sessionID)?.begun) {
        await send("Stop", payload(sessionID));
      } else if (event.type === "session.deleted" && info?.id) {
        sessions.delete(info.id);
      }
    },

    "chat.message": async ({ sessionID }, output) => {
      const session = await known(sessionID);
      const prompt = output.parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored).map((part) => part.text);
      await begin(session, sessionID);
      if (session.subagent || !prompt.length) return;
      const text = contextOf(await send("UserPromptSubmit", payload(sessionID, { prompt: prompt.join("\n") })));
      if (!text) return;
      const last = output.parts.at(-1).id; // the ids of parts sort by time
      output.parts.push({ id: `${last}m`, sessionID, messageID: output.message.id, type: "text", text, synthetic: true });
    },

    "command.execute.before": async (input, output) => {
      for (const part of output.parts) {
        if (part.type !== "text" || part.synthetic) continue;
        part.metadata = { ...part.metadata, memoryd_command: { name: input.command, arguments: input.arguments ?? "" } };
      }
    },

    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      const start = sessions.get(sessionID)?.start;
      const isTitle = /title generator/i.test(output.system[0]?.slice(0, 200) ?? ""); // which needs no memory
      if (start && !isTitle) output.system.push(start);
    },

    "experimental.session.compacting": async ({ sessionID }) => {
      if (sessions.get(sessionID)?.begun) await send("PreCompact", payload(sessionID));
    },

    "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
      const name = GUARDED[tool];
      if (!name || !sessions.has(sessionID)) return;
      const given = Object.fromEntries(Object.entries(output.args ?? {}).map(([key, value]) => [RENAMED[key] ?? key, value]));
      const answer = await send("PreToolUse", payload(sessionID, { tool_name: name, tool_input: given, tool_use_id: callID }));
      const said = answer.hookSpecificOutput ?? {};
      if (said.permissionDecision === "deny") throw new Error(said.permissionDecisionReason || "memoryd refused this call.");
    },
  };
};
