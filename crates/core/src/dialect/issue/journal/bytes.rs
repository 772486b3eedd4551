//! The file's bytes and its text. `cat >>` and PowerShell's `>>` write into it in encodings of their own, so one file may
//! hold several. A file that seemed empty would be begun anew whenever somebody looks: every byte is read as something,
//! and what is put at the end is read back.

/// The text of the file. Of text in another encoding than the rest, what is ASCII is understood.
pub fn text(bytes: &[u8]) -> String {
    let wide = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).replace('\0', ""),
    }
}

/// What is put at the end of the file so that this text follows what is there.
pub fn appended(found: &[u8], text: &str) -> Vec<u8> {
    let unit: fn(u16) -> [u8; 2] = match found {
        [0xff, 0xfe, ..] => u16::to_le_bytes,
        [0xfe, 0xff, ..] => u16::to_be_bytes,
        _ => return text.as_bytes().to_vec(),
    };
    let mut bytes = Vec::new();
    if found.len() % 2 == 1 {
        // Half a character of somebody else's is filled up, on a line of its own.
        bytes.push(b' ');
        bytes.extend(unit(u16::from(b'\n')));
    }
    bytes.extend(text.encode_utf16().flat_map(unit));
    bytes
}
