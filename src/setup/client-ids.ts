/** The name of each client in `svc setup`, in the order in which clients are shown. */
export const clientIds = [
  'codex',
  'claude',
  'gemini',
  'cursor',
  'cline',
  'roo',
  'opencode',
  'continue',
  'zed',
  'aider',
  'open-webui',
  'ai-sdk',
  'langchain',
] as const

export type ClientId = (typeof clientIds)[number]
