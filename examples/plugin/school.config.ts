/** The shipped configuration with one more plugin: `GATEWAY_CONFIG=examples/plugin/school.config.ts npm start`. */
import base from 'svc-gateway/gateway.config.js'
import { defineGateway } from 'svc-gateway'
import { bannedWords } from './banned-words.ts'

const index = base.plugins.findIndex(({ name }) => name === 'quota-reserve')

export default defineGateway({ ...base, plugins: base.plugins.toSpliced(index, 0, bannedWords(['unobtainium'])) })
