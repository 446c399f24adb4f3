@testable import LatewoodFleece
