#!/usr/bin/env bash
# Writes `src/pages/browser/inter.woff2`: Inter in the characters of English text and the weights of the site, with figures of one width.
# Run by hand when the font or the characters change: `bash test/system/pages/subset-font.sh`. Needs Debian's fonttools and python3-brotli.
# 48 KB with Latin-1 and all weights, 21.6 KB with Latin-1, 15.5 KB as it is. The sheet `styles/foundation/font.css` lists the same characters.
set -euo pipefail
folder=$(cd "$(dirname "$0")/../../src/pages/browser" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
npm pack --silent @fontsource-variable/inter@5.3.0 >/dev/null
tar xzf ./*.tgz
fonttools varLib.instancer package/files/inter-latin-wght-normal.woff2 wght=400:700 --output weights.ttf
characters=$(tr -d '\n ' <"$folder/styles/foundation/font.css" | sed 's/.*unicode-range:\([^;]*\);.*/\1/')
pyftsubset weights.ttf --unicodes="$characters" --layout-features=kern,tnum,ccmp,locl,mark,mkmk --flavor=woff2 \
  --output-file="$folder/inter.woff2"
cp package/LICENSE "$folder/inter-license.txt"
ls -l "$folder/inter.woff2"
