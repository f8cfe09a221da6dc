//! LMDeploy. Usage comes with the finish event or behind it; errors are flat objects.

use super::openai::SHARED;
use super::rules::Rules;

pub(super) const RULES: Rules = Rules { name: "lmdeploy", ..SHARED };
