import { code } from './docs-page.ts'
import type { DocsPage } from './docs-page.ts'

/** LibreChat runs on a server of its own, so `svc setup` does not configure it. */
export const libreChat: DocsPage = {
  path: '/docs/tools/librechat',
  title: { en: 'LibreChat', zh: 'LibreChat' },
  group: 'tools',
  write: ({ base, keyVariable, setup, site }) => {
    // Without a version, LibreChat refuses the whole file.
    const file = code(
      'yaml',
      'librechat.yaml',
      `version: 1.3.17
endpoints:
  custom:
    - name: ${JSON.stringify(setup.serviceName)}
      apiKey: "\${${keyVariable}}"
      baseURL: "${base}"
      models:
        default: ["${setup.fast.id}", "${setup.main.id}"]
        fetch: true
      titleConvo: true
      titleModel: "${setup.fast.id}"`,
    )
    return {
      en: `# LibreChat\n\nNeeds a [key](${site}/keys) in the environment of the server. The list of models is fetched from here.\n\n${file}\n`,
      zh: `# LibreChat\n\n需要在服务器的环境变量中设置[密钥](${site}/keys)。模型列表会自动从这里获取。\n\n${file}\n`,
    }
  },
}
