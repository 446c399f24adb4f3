print("latewood")
