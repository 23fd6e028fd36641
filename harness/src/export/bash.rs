//! The fixed parts of a script, and bytes as words of bash.

/// How a script begins: its functions.
pub(super) const HEAD: &str = r#"#!/usr/bin/env bash
# Drives an adapter through one history, in a directory of its own. Prints each request and reply,
# and the project at the end. Exits with 1 if the failure shows, with 0 if it does not, and with 2 if
# a script cannot tell. Written by `herma-conform export`.
set -u
ROOT=$(mktemp -d)
IDS=()
SHOWN=unknown
trap 'rm -rf -- "$ROOT"' EXIT
start() {
    coproc ADAPTER { cd "$FOLDER" && exec env -i "${ENVIRONMENT[@]}" "${COMMAND[@]}"; }
    exec {TO}>&"${ADAPTER[1]}" {FROM}<&"${ADAPTER[0]}"
    # The adapter sees the end of its input once no process holds the other end.
    eval "exec ${ADAPTER[1]}>&- ${ADAPTER[0]}<&-"
}
stop() {
    exec {TO}>&- {FROM}<&-
    wait "${ADAPTER_PID-}" 2>/dev/null
}
ask() {
    printf '> %s\n' "$1"
    printf '%s\n' "$1" >&"$TO"
    IFS= read -r -t "$SECONDS_MAX" REPLY <&"$FROM"
    if [ $? -gt 128 ]; then
        REPLY=
        echo "no reply within $SECONDS_MAX s: the adapter is killed"
        { kill -KILL "$ADAPTER_PID"; wait "$ADAPTER_PID"; } 2>/dev/null
    fi
    printf '< %s\n' "$REPLY"
}
field() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" <<<"$REPLY"; }
# A reply without what is another one each time: places, ids, times and the words of a refusal.
plain() {
    local line=${1//"$ROOT"/ROOT} id
    for id in "${IDS[@]}"; do
        [ "${#id}" -lt 4 ] || line=${line//"$id"/ID}
    done
    sed -E 's/[0-9a-f]{7,}/#/g; s/"id": *[0-9]+/"id":#/; s/"message": *"([^"\\]|\\.)*"/"message":#/' <<<"$line"
}
# What is in the projects below a folder.
files() {
    (cd "$1/work" && find . -name .git -prune -o -print0 | LC_ALL=C sort -z |
        while IFS= read -r -d '' path; do
            if [ -L "$path" ]; then printf '%q -> %q\n' "$path" "$(readlink "$path")"
            elif [ -f "$path" ]; then
                [ -x "$path" ] && printf x
                printf '%q %s\n' "$path" "$(cksum 2>/dev/null <"$path")"
            elif [ -d "$path" ]; then printf '%q/\n' "$path"
            elif [ -p "$path" ]; then printf '%q|\n' "$path"
            else printf '%q=\n' "$path"; fi
        done)
}
"#;

/// No shell command makes a socket. The path of a socket must be short, so it is made and then moved.
pub(super) const SOCKET: &str = r#"make_socket() {
    (cd "$ROOT" && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(".s")') &&
        mv -T -- "$ROOT/.s" "$1" || { echo 'no socket was made: that takes python3' >&2; exit 2; }
}
"#;

/// Comes after the failing operation: compares its reply and the files with those recorded.
pub(super) const COMPARE: &str = r#"SHOWN=no
if [ "$(plain "$REPLY")" = "$RECORDED" ] && [ "$(files "$ROOT")" = "$(files "$ROOT/recorded")" ]; then
    SHOWN=yes
fi
"#;

/// How the script ends.
pub(super) const END: &str = r#"stop
find "$ROOT/work" -not -path '*/.git*' -exec ls -ld {} +
case $SHOWN in
yes) echo 'the failure shows: it was answered, and left, as when this was written'; exit 1 ;;
no) echo 'the failure does not show: something was answered or left otherwise'; exit 0 ;;
*) echo 'a script cannot tell whether the failure shows'; exit 2 ;;
esac
"#;

/// The bytes as one word of bash, with the sandbox's path replaced by the script's path.
pub(super) fn shell(bytes: &[u8], root: &[u8]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = bytes;
    loop {
        let index = rest.windows(root.len().max(1)).position(|window| window == root);
        let part = &rest[..index.unwrap_or(rest.len())];
        parts.push(format!("$'{}'", escaped(part)));
        match index {
            Some(index) => rest = &rest[index + root.len()..],
            None => break,
        }
    }
    parts.join("\"$ROOT\"")
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'\n' => text.push_str("\\n"),
            b'\'' | b'\\' => {
                text.push('\\');
                text.push(char::from(*byte));
            }
            b' '..=b'~' => text.push(char::from(*byte)),
            byte => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text
}
