/** Claude Code, the agent of Anthropic: it uses the Messages API. */
import { toJson } from '../client-setup.ts'
import type { ClientSetupEntry } from '../client-setup.ts'

export const claudeCode: ClientSetupEntry = {
  name: 'Claude Code',
  api: 'messages',
  create: ({ apiUrl, key, main, fast }) => ({
    files: [
      {
        path: '~/.claude/settings.json',
        folderVariable: 'CLAUDE_CONFIG_DIR',
        format: 'json',
        text: toJson({
          env: {
            ANTHROPIC_BASE_URL: apiUrl,
            ANTHROPIC_AUTH_TOKEN: key,
            ANTHROPIC_MODEL: main.id,
            ANTHROPIC_DEFAULT_OPUS_MODEL: main.id,
            ANTHROPIC_DEFAULT_SONNET_MODEL: main.id,
            ANTHROPIC_DEFAULT_HAIKU_MODEL: fast.id,
            CLAUDE_CODE_SUBAGENT_MODEL: main.id,
            CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(main.contextLength),
            CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(Math.min(main.maxOutputTokens, 16_000)),
            CLAUDE_CODE_MAX_RETRIES: '3',
            CLAUDE_CODE_ATTRIBUTION_HEADER: '0',
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
            CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK: '1',
            ENABLE_TOOL_SEARCH: 'false',
          },
        }),
        keyPath: ['env', 'ANTHROPIC_AUTH_TOKEN'],
      },
    ],
    notes: [
      {
        en: 'ANTHROPIC_BASE_URL has no /v1 at its end: Claude Code adds it.',
        zh: 'ANTHROPIC_BASE_URL 末尾不带 /v1:Claude Code 会自动添加。',
      },
      {
        en: 'The permission mode stays as it is. In the auto mode Claude Code judges each action by a long request of its own, which is charged; permissions.defaultMode chooses another mode.',
        zh: '权限模式保持不变。在自动模式下，Claude Code 会为每个操作另发一次较长的请求进行判定，该请求会计费；可通过 permissions.defaultMode 选择其他模式。',
      },
      {
        en: 'CLAUDE_CODE_MAX_CONTEXT_TOKENS is the context window of the model; without it, Claude Code assumes a million tokens and shortens the conversation too late.',
        zh: 'CLAUDE_CODE_MAX_CONTEXT_TOKENS 是模型的上下文窗口；如果没有它，Claude Code 会假定一百万个 token，导致过晚压缩对话。',
      },
      {
        en: 'CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK prevents a second, whole request after a stream that failed.',
        zh: 'CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK 可避免流式响应失败后再发送一次非流式请求。',
      },
      {
        en: 'ENABLE_TOOL_SEARCH=false sends every tool with the request; the models here do not search for tools.',
        zh: 'ENABLE_TOOL_SEARCH=false 会随请求发送所有工具；此处的模型不支持工具搜索。',
      },
      {
        en: 'Do not set ANTHROPIC_API_KEY beside ANTHROPIC_AUTH_TOKEN, and do not keep the file in a repository: it contains your key.',
        zh: '请勿同时设置 ANTHROPIC_API_KEY 和 ANTHROPIC_AUTH_TOKEN，也不要把该文件放入代码仓库：其中包含你的密钥。',
      },
    ],
  }),
}
