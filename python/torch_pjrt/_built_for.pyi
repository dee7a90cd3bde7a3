TORCH: str  # the release the extension is built for, such as "2.13.0"; written by the build
