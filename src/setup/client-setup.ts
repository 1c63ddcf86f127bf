/** How a program or an SDK is set up to use the service. */
import type { ClientId } from './client-ids.ts'

/** What differs between services and members. */
export interface SetupFacts {
  /** The address of the API without `/v1` and without a slash at its end. */
  readonly apiUrl: string
  /** The service's short name: the name of the provider in configurations, and the beginning of the key's variable. */
  readonly slug: string
  /** The service's name for people. */
  readonly serviceName: string
  /** The member's key, or a placeholder for it. */
  readonly key: string
  /** The model for work. */
  readonly main: SetupModel
  /** The model for titles, summaries and other small tasks; may be the same. */
  readonly fast: SetupModel
  /** Further models that a program offers in its list, besides these two. */
  readonly others?: readonly SetupModel[]
  /** The plan has a search product, so that the service runs an agent's web searches. */
  readonly hasSearch?: boolean
}

/** A product with the capability `chat`. */
export interface SetupModel {
  readonly id: string
  readonly name: string
  readonly contextLength: number
  readonly maxOutputTokens: number
  readonly images: boolean
}

/** A text in each language of the service. */
export interface SetupText {
  readonly en: string
  readonly zh: string
}

export type FileFormat = 'toml' | 'json' | 'yaml'

export interface SetupFile {
  /** With `~` for the member's home folder. */
  readonly path: string
  /** A variable of the environment that names the folder of the file. */
  readonly folderVariable?: string
  /** Other names of the file. The first of them that exists is used, otherwise `path`. */
  readonly otherPaths?: readonly string[]
  /** Where the file is on Windows, with variables such as `%APPDATA%`, if not in the same place. */
  readonly windowsPath?: string
  /** JSON may contain comments. */
  readonly format: FileFormat
  readonly text: string
  /** Values that are written only where the file has none. */
  readonly unlessSet?: readonly { readonly path: readonly string[] }[]
  /** Lists whose items are the member's own too: the value of this field identifies an item. */
  readonly listKeys?: Readonly<Record<string, string>>
  /** Where the key is, if the file contains it. */
  readonly keyPath?: readonly string[]
}

export interface SetupField {
  readonly label: string
  readonly value: string
}

export interface SetupSnippet {
  readonly title: string
  readonly language: 'shell' | 'python' | 'typescript'
  readonly text: string
}

/** The API format that a program uses. */
export type SetupApi = 'chat completions' | 'responses' | 'messages' | 'gemini'

export interface ClientSetup {
  readonly id: ClientId
  readonly name: string
  readonly api: SetupApi
  readonly files: readonly SetupFile[]
  /** Where the fields are entered. */
  readonly dialog?: SetupText
  readonly fields: readonly SetupField[]
  readonly snippets: readonly SetupSnippet[]
  readonly notes: readonly SetupText[]
}

/** A client: the part of its setup that depends on nothing, and the part that depends on the facts. */
export interface ClientSetupEntry extends Pick<ClientSetup, 'name' | 'api'> {
  create(facts: SetupFacts): Partial<Omit<ClientSetup, 'id' | 'name' | 'api'>>
}

/** The variable in which the member keeps the key. */
export function getKeyVariable({ slug }: Pick<SetupFacts, 'slug'>): string {
  return `${slug.toUpperCase()}_API_KEY`
}

/** The address that most programs expect. */
export function getBaseUrl({ apiUrl }: Pick<SetupFacts, 'apiUrl'>): string {
  return `${apiUrl}/v1`
}

/** Each model once: the one for work, the fast one, the others. */
export function listModels({ main, fast, others = [] }: SetupFacts): readonly SetupModel[] {
  return [...new Map([main, fast, ...others].map((model) => [model.id, model])).values()]
}

export function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

/** A string in double quotes, which TOML, YAML, JavaScript and Python read alike. */
export function quote(text: string): string {
  return JSON.stringify(text)
}

/** Exports the key, and other variables with the same value. */
export function createKeySnippet(facts: SetupFacts, ...others: readonly string[]): SetupSnippet {
  const variable = getKeyVariable(facts)
  const lines = [`export ${variable}=${quote(facts.key)}`, ...others.map((name) => `export ${name}="$${variable}"`)]
  return { title: 'shell', language: 'shell', text: `${lines.join('\n')}\n` }
}
