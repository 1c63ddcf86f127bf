/** Continue, an agent for editors and the terminal (`cn`). */
import { createKeySnippet, getBaseUrl, getKeyVariable, listModels, quote } from '../client-setup.ts'
import type { ClientSetupEntry } from '../client-setup.ts'

export const continueDev: ClientSetupEntry = {
  name: 'Continue',
  api: 'chat completions',
  create: (facts) => ({
    files: [
      {
        path: '~/.continue/config.yaml',
        folderVariable: 'CONTINUE_GLOBAL_DIR',
        otherPaths: ['~/.continue/config.yml'],
        format: 'yaml',
        text: `name: ${quote(facts.serviceName)}
version: 1.0.0
schema: v1
models:
${listModels(facts)
  .map(
    (model) => `  - name: ${quote(model.name)}
    provider: openai
    model: ${quote(model.id)}
    apiBase: ${quote(getBaseUrl(facts))}
    apiKey: \${{ secrets.${getKeyVariable(facts)} }}
    roles: [chat, edit, apply]
    capabilities: [tool_use${model.images ? ', image_input' : ''}]
    defaultCompletionOptions:
      contextLength: ${model.contextLength}
      maxTokens: ${model.maxOutputTokens}
`,
  )
  .join('')}`,
        unlessSet: [{ path: ['name'] }, { path: ['version'] }, { path: ['schema'] }],
        listKeys: { models: 'name' },
      },
    ],
    snippets: [
      createKeySnippet(facts),
      {
        title: '~/.continue/.env',
        language: 'shell',
        text: `${getKeyVariable(facts)}=${facts.key}\n`,
      },
    ],
    notes: [
      {
        en: 'In the terminal, the variable is enough; an editor reads the key from ~/.continue/.env.',
        zh: '在终端中使用环境变量即可；编辑器从 ~/.continue/.env 读取密钥。',
      },
    ],
  }),
}
