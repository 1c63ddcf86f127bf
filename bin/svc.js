#!/usr/bin/env node
import { launch } from './launch.js'

await launch('src/cli/main', ({ main }) => main(process.argv.slice(2)))
