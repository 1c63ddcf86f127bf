/** Every client whose setup is described, in the order of display. */
import { clientIds } from './client-ids.ts'
import type { ClientId } from './client-ids.ts'
import type { ClientSetup, ClientSetupEntry, SetupFacts, SetupModel } from './client-setup.ts'
import { aider } from './clients/aider.ts'
import { aiSdk } from './clients/ai-sdk.ts'
import { claudeCode } from './clients/claude-code.ts'
import { cline } from './clients/cline.ts'
import { codex } from './clients/codex.ts'
import { continueDev } from './clients/continue.ts'
import { cursor } from './clients/cursor.ts'
import { geminiCli } from './clients/gemini-cli.ts'
import { langchain } from './clients/langchain.ts'
import { openWebui } from './clients/open-webui.ts'
import { opencode } from './clients/opencode.ts'
import { roo } from './clients/roo.ts'
import { zed } from './clients/zed.ts'

const entries: Readonly<Record<ClientId, ClientSetupEntry>> = {
  codex,
  claude: claudeCode,
  gemini: geminiCli,
  cursor,
  cline,
  roo,
  opencode,
  continue: continueDev,
  zed,
  aider,
  'open-webui': openWebui,
  'ai-sdk': aiSdk,
  langchain,
}

/** Each client without the facts. */
export const clientEntries = clientIds.map((id) => ({ id, ...entries[id] }))

export function createClientSetups(facts: SetupFacts): readonly ClientSetup[] {
  return clientIds.map((id) => createClientSetup(id, facts))
}

export function createClientSetup(id: ClientId, facts: SetupFacts): ClientSetup {
  const { name, api, create } = entries[id]
  return { id, name, api, files: [], fields: [], snippets: [], notes: [], ...create(facts) }
}

export function isClientId(id: string): id is ClientId {
  return Object.hasOwn(entries, id)
}

/** A product as the configuration and `GET /v1/models` describe it, under common names. */
export interface SetupCandidate extends Omit<SetupModel, 'images'> {
  readonly tier: string
  readonly capabilities: readonly string[]
}

/**
 * The models for the facts: the first flagship product that can chat (or the named one), the first light one, the others, and whether
 * there is a product that searches. Undefined where none can chat.
 */
export function chooseModels(
  products: readonly SetupCandidate[],
  mainId?: string,
): Required<Pick<SetupFacts, 'main' | 'fast' | 'others' | 'hasSearch'>> | undefined {
  const chats = products.filter(({ capabilities }) => capabilities.includes('chat'))
  const main =
    mainId === undefined ? (chats.find(({ tier }) => tier === 'flagship') ?? chats[0]) : chats.find(({ id }) => id === mainId)
  if (main === undefined) return undefined
  const fast = chats.find(({ tier }) => tier === 'light') ?? main
  return {
    main: toSetupModel(main),
    fast: toSetupModel(fast),
    others: chats.filter((each) => each !== main && each !== fast).map(toSetupModel),
    hasSearch: products.some(({ capabilities }) => capabilities.includes('search')),
  }
}

function toSetupModel({ id, name, contextLength, maxOutputTokens, capabilities }: SetupCandidate): SetupModel {
  return { id, name, contextLength, maxOutputTokens, images: capabilities.includes('vision') }
}
