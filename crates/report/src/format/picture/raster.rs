//! SVG to PNG, with fonts of our own: the same bytes on every machine.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};

use crate::ReportError;

/// Inter, a subset; its licence lies beside it.
const REGULAR: &[u8] = include_bytes!("../../../assets/fonts/Inter-Regular.otf");
const SEMI_BOLD: &[u8] = include_bytes!("../../../assets/fonts/Inter-SemiBold.otf");

/// An SVG of ours as PNG.
pub(crate) fn png(svg: &str) -> Result<Vec<u8>, ReportError> {
    let fault = |why: String| ReportError::Raster { why };
    let mut fonts = Database::new();
    fonts.load_font_data(REGULAR.to_vec());
    fonts.load_font_data(SEMI_BOLD.to_vec());
    // Other scripts are drawn with what the machine has; looking for that takes long, so only where it is needed.
    if svg.chars().any(is_foreign) {
        fonts.load_system_fonts();
    }
    let options = Options { fontdb: Arc::new(fonts), font_family: "Inter".to_owned(), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| fault(error.to_string()))?;
    let size = tree.size().to_int_size();
    let mut pixels = Pixmap::new(size.width(), size.height())
        .ok_or_else(|| fault("the picture has no size".to_owned()))?;
    resvg::render(&tree, Transform::identity(), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| fault(error.to_string()))
}

/// True for letters that the fonts of our own may lack.
fn is_foreign(letter: char) -> bool {
    !matches!(letter,
        '\0'..='\u{17f}' | '\u{391}'..='\u{3c9}' | '\u{400}'..='\u{45f}' | '\u{2010}'..='\u{203a}' | '\u{2190}'..='\u{2199}'
        | '€' | '−' | '≈' | '≤' | '≥' | '✓' | '↻')
}
